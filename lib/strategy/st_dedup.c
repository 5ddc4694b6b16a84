/* dedup: a result that says exactly what an earlier one said becomes a reference to the first. */
#include "strategy/strategy.h"

enum { MIN, KEEP_LAST, WHOLE, CLEAR_IDS };

static paucis_err dedup_result(struct pass *p, struct seen *seen, const bool *unclear,
                               size_t part) {
    struct view *v = p->v;
    struct span key;
    if (p->opt[WHOLE] && view_part(v, part)->edit != NO_INDEX) return PAUCIS_OK;
    PAUCIS_TRY(paucis__view_key(v, part, &key));
    if (key.len < p->opt[MIN]) return PAUCIS_OK; /* a key is never shorter than its text */
    size_t first = paucis__seen_add(seen, v, key, part);
    if (first == NO_INDEX) return PAUCIS_OK;
    size_t len = paucis__view_text_len(v, part);
    if (len < p->opt[MIN]) return PAUCIS_OK; /* and so was the first */
    struct span id = paucis__view_string(v, view_part(v, first)->id);
    if (!id.at) return PAUCIS_E_NOMEM;
    if (id.len > MAX_MARKER_ID || (unclear && unclear[first])) return PAUCIS_OK;
    if (!id.len && v->ruled) return PAUCIS_OK; /* Gemini has calls without an id */
    bool done;
    struct span text =
        paucis__pass_marker(p, "[DEDUP] identical to tool_call_id=%i (%n bytes)", id, len, 0);
    PAUCIS_TRY(paucis__pass_replace(p, part, text, first, "same as an earlier result", &done));
    if (done) {
        p->counts->dedup_hits++;
        p->counts->total_bytes_saved += saturating_sub(len, text.len);
    }
    return PAUCIS_OK;
}

static paucis_err dedup_run(struct pass *p) {
    struct view *v = p->v;
    struct seen seen;
    const bool *unclear = NULL;
    size_t results = 0;
    for (size_t i = 0; i < v->parts.count; i++) results += view_part(v, i)->kind == PART_RESULT;
    size_t limit = p->opt[KEEP_LAST] ? paucis__pass_limit(p, p->opt[KEEP_LAST]) : v->order.count;
    PAUCIS_TRY(paucis__seen_new(&seen, v, results));
    if (p->opt[CLEAR_IDS]) PAUCIS_TRY(paucis__unclear_ids(v, PART_RESULT, &unclear));
    for (size_t i = 0; i < limit; i++)
        for (VIEW_EACH_PART(v, k, view_message(v, v->order.at[i])))
            if (view_part(v, k)->kind == PART_RESULT)
                PAUCIS_TRY(dedup_result(p, &seen, unclear, k));
    return PAUCIS_OK;
}

const struct strategy paucis__st_dedup = {
    .name = "dedup",
    .summary = "replace a repeated result by a reference to the first",
    .options =
        {
            [MIN] = NUMBER("dedup.min", 256, 0, "results shorter than this are left alone"),
            [KEEP_LAST] =
                NUMBER("dedup.keep_last", 0, 0, "messages at the end that are not looked at"),
            [WHOLE] =
                SWITCH_OFF("dedup.whole", "compare only results that no other strategy has cut"),
            [CLEAR_IDS] =
                SWITCH_OFF("dedup.clear_ids",
                           "refer only to ids that are unique and made of plain characters"),
        },
    .run = dedup_run,
};
