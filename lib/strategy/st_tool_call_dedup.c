/* tool_call_dedup: a call with the name and arguments of an earlier one says so instead of
 * repeating the arguments. */
#include "strategy/strategy.h"

enum { MIN, KEEP_LAST, TRUST, OBJECT, EXACT, CLEAR_IDS };

#define PLAIN_MARKER "[REPEAT of call_id=%i, %n bytes]"
#define OBJECT_MARKER "{\"repeat_of_call_id\":\"%i\",\"bytes\":%n}"

/* The classic key is name, NUL, arguments, so that a NUL in the name can make two different calls
 * look alike; the exact one puts the name's length in front. */
static paucis_err call_key(struct pass *p, size_t part, struct span args, struct span *key) {
    struct view *v = p->v;
    struct span name = paucis__view_string(v, view_part(v, part)->name);
    size_t prefix = p->opt[EXACT] ? sizeof name.len : 0;
    char *dst = paucis__arena_alloc(v->arena, prefix + name.len + 1 + args.len);
    if (!name.at || !dst) return PAUCIS_E_NOMEM;
    memcpy(dst, &name.len, prefix);
    memcpy(dst + prefix, name.at, name.len);
    dst[prefix + name.len] = 0;
    memcpy(dst + prefix + name.len + 1, args.at, args.len);
    *key = span_of(dst, prefix + name.len + 1 + args.len);
    return PAUCIS_OK;
}

static paucis_err dedup_call(struct pass *p, struct seen *seen, const bool *unclear, size_t part) {
    struct view *v = p->v;
    struct span args, key;
    PAUCIS_TRY(paucis__view_text(v, part, &args));
    if (args.len < p->opt[MIN]) return PAUCIS_OK;
    if (p->opt[TRUST] && span_begins(args, SPAN("[REPEAT"))) return PAUCIS_OK;
    PAUCIS_TRY(call_key(p, part, args, &key));
    size_t first = paucis__seen_add(seen, v, key, part);
    if (first == NO_INDEX) return PAUCIS_OK;
    struct span id = paucis__view_string(v, view_part(v, first)->id);
    if (!id.at) return PAUCIS_E_NOMEM;
    if (id.len > MAX_MARKER_ID || (unclear && unclear[first])) return PAUCIS_OK;
    if (!id.len && v->ruled) return PAUCIS_OK; /* Gemini has calls without an id */
    bool done;
    /* Where arguments must be an object, the plain marker becomes a note in one anyway. */
    bool object = p->opt[OBJECT] && !(view_part(v, part)->flags & PART_OBJECT);
    if (object) id = paucis__pass_quoted(p, id);
    if (!id.at) return PAUCIS_E_NOMEM;
    struct span text =
        paucis__pass_marker(p, object ? OBJECT_MARKER : PLAIN_MARKER, id, args.len, 0);
    PAUCIS_TRY(paucis__pass_replace(p, part, text, first, "same call as an earlier one", &done));
    if (done) {
        p->counts->dedup_hits++;
        p->counts->total_bytes_saved += saturating_sub(args.len, text.len);
    }
    return PAUCIS_OK;
}

static paucis_err tool_call_dedup_run(struct pass *p) {
    struct view *v = p->v;
    struct seen seen;
    const bool *unclear = NULL;
    size_t limit = paucis__pass_limit(p, p->opt[KEEP_LAST]);
    PAUCIS_TRY(paucis__seen_new(&seen, v, v->parts.count));
    if (p->opt[CLEAR_IDS]) PAUCIS_TRY(paucis__unclear_ids(v, PART_CALL, &unclear));
    for (size_t i = 0; i < limit; i++)
        for (VIEW_EACH_PART(v, k, view_message(v, v->order.at[i])))
            if (view_part(v, k)->kind == PART_CALL) PAUCIS_TRY(dedup_call(p, &seen, unclear, k));
    return PAUCIS_OK;
}

const struct strategy paucis__st_tool_call_dedup = {
    .name = "tool_call_dedup",
    .summary = "replace the arguments of a repeated call by a reference to the first",
    .options =
        {
            [MIN] =
                NUMBER("tool_call_dedup.min", 64, 0, "arguments shorter than this are left alone"),
            [KEEP_LAST] =
                NUMBER("tool_call_dedup.keep_last", 8, 0, "messages at the end that stay"),
            [TRUST] = SWITCH_ON("tool_call_dedup.trust",
                                "arguments that look like a marker are taken for one"),
            [OBJECT] = SWITCH_OFF("tool_call_dedup.object", "the marker is a JSON object"),
            [EXACT] = SWITCH_OFF("tool_call_dedup.exact",
                                 "a NUL in a name cannot make two calls look alike"),
            [CLEAR_IDS] =
                SWITCH_OFF("tool_call_dedup.clear_ids",
                           "refer only to ids that are unique and made of plain characters"),
        },
    .run = tool_call_dedup_run,
};
