/* streaming_llm: the first messages and the newest stay, what lies between becomes one line. */
#include "strategy/strategy.h"

enum { SINKS, RECENT, MIN_MESSAGES, WHOLE_UNITS, MEDIA_BYTES };

static const struct message *at(const struct view *v, size_t i) {
    return view_message(v, v->order.at[i]);
}

static bool is_calling(const struct view *v, const struct message *m) {
    if (m->role != ROLE_ASSISTANT) return false;
    for (VIEW_EACH_PART(v, p, m))
        if (view_part(v, p)->kind == PART_CALL) return true;
    return false;
}

static uint64_t message_bytes(const struct pass *p, const struct message *m) {
    uint64_t bytes = 0;
    for (VIEW_EACH_PART(p->v, i, m)) {
        const struct part *part = view_part(p->v, i);
        switch ((enum kind)part->kind) {
        case PART_CALL:
            bytes += paucis__view_string_len(p->v, part->name) + paucis__view_text_len(p->v, i);
            break;
        case PART_TEXT:
        case PART_RESULT: bytes += paucis__view_text_len(p->v, i); break;
        case PART_MEDIA: bytes += p->opt[MEDIA_BYTES]; break;
        case PART_THINKING:
        case PART_OPAQUE: break;
        }
    }
    return bytes;
}

/* The range of v->order to go: a call is not left without its results, nor results without their
 * call, as far as roles tell. */
static void find_range(const struct pass *p, size_t *from, size_t *to) {
    const struct view *v = p->v;
    size_t n = v->order.count, a = (size_t)p->opt[SINKS], e = n - (size_t)p->opt[RECENT];
    while (e && e < n && is_calling(v, at(v, e - 1))) e++;
    while (e < n && at(v, e)->role == ROLE_TOOL) e++;
    while (a < e && at(v, a)->role == ROLE_TOOL) a++;
    *from = a;
    *to = e;
}

/* With whole units, only units that lie in the range as a whole go, and neither the newest message nor
 * the last one a user wrote does. */
static paucis_err mark_going(const struct pass *p, size_t from, size_t to, bool *going) {
    const struct view *v = p->v;
    size_t n = v->order.count;
    bool whole = p->opt[WHOLE_UNITS] || v->ruled;
    bool *stays = paucis__arena_alloc(v->arena, v->messages.count * sizeof *stays); /* by unit */
    if (!stays) return PAUCIS_E_NOMEM;
    memset(stays, 0, v->messages.count * sizeof *stays);
    for (size_t i = 0; i < n && whole; i++)
        if (i < from || i >= to || i == n - 1 || v->order.at[i] == v->loop ||
            !paucis__edit_may_drop_message(v, v->order.at[i]))
            stays[at(v, i)->unit] = true;
    for (size_t i = from; i < to; i++) going[i] = !stays[at(v, i)->unit];
    return PAUCIS_OK;
}

/* Drops what is going and says so in its place; both or neither. */
static paucis_err trim(struct pass *p, const bool *going, size_t from, size_t to,
                       struct span text, bool *done) {
    struct view *v = p->v;
    struct why why = {p->strategy, "between the first and the newest messages"};
    size_t edits = v->edits.count, place = NO_INDEX, made;
    paucis_err err = PAUCIS_OK;
    for (size_t i = from; i < to && !err; i++) {
        if (!going[i]) continue;
        if (place == NO_INDEX) place = v->order.at[i];
        err = paucis__edit_drop_message(v, why, v->order.at[i]);
    }
    if (!err) err = paucis__edit_insert(v, why, place, NO_INDEX, text, &made);
    *done = !err;
    if (err == PAUCIS_E_INVARIANT) paucis__edit_undo(v, edits);
    return err == PAUCIS_E_INVARIANT ? PAUCIS_OK : err;
}

static paucis_err streaming_llm_run(struct pass *p) {
    struct view *v = p->v;
    size_t n = v->order.count, from, to, count = 0;
    uint64_t bytes = 0;
    if (n < p->opt[MIN_MESSAGES] || n < p->opt[RECENT] || n - p->opt[RECENT] < p->opt[SINKS])
        return PAUCIS_OK;
    find_range(p, &from, &to);
    bool *going = paucis__arena_alloc(v->arena, n * sizeof *going);
    if (!going) return PAUCIS_E_NOMEM;
    PAUCIS_TRY(mark_going(p, from, to, going));
    for (size_t i = from; i < to; i++) {
        count += going[i];
        if (going[i]) bytes += message_bytes(p, at(v, i));
    }
    if (count < 2) return PAUCIS_OK;
    struct span text = paucis__pass_marker(p,
                                           "[...streaming-llm trim: %n messages (%m bytes) elided "
                                           "between sinks and recent window...]",
                                           SPAN(""), count, bytes);
    if (!text.at) return PAUCIS_E_NOMEM;
    bool done;
    PAUCIS_TRY(trim(p, going, from, to, text, &done));
    if (done) {
        p->counts->snippet_hits++;
        p->counts->total_bytes_saved += saturating_sub(bytes, text.len);
    }
    return PAUCIS_OK;
}

const struct strategy paucis__st_streaming_llm = {
    .name = "streaming_llm",
    .summary = "keep the first and the newest messages, drop what lies between",
    .options =
        {
            [SINKS] = NUMBER("streaming_llm.sinks", 2, 0, "messages at the start that stay"),
            [RECENT] = NUMBER("streaming_llm.recent", 16, 0, "messages at the end that stay"),
            [MIN_MESSAGES] = NUMBER("streaming_llm.min_messages", 22, 0, "shorter conversations are left alone"),
            [WHOLE_UNITS] = SWITCH_OFF("streaming_llm.whole_units", "a call goes only with its results, and the last user message stays"),
            [MEDIA_BYTES] = NUMBER("streaming_llm.media_bytes", 1024, 0, "what an image or a file counts"),
        },
    .run = streaming_llm_run,
};
