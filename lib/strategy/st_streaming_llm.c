/* streaming_llm: the first messages and the newest stay, what lies between becomes one line.
 *
 * The line is a user message of its own. Where none may stand, the first unit of what was to go
 * stays instead, and its result (or text) is replaced by the line. */
#include "strategy/strategy.h"

#include "core/chars.h"

enum { SINKS, RECENT, MIN_MESSAGES, WHOLE_UNITS, ALTERNATE, TOTALS, MEDIA_BYTES };

#define MARKER_A "[...streaming-llm trim: "
#define MARKER_B " messages ("
#define MARKER_C " bytes) elided between sinks and recent window...]"

static const struct message *at(const struct view *v, size_t i) {
    return view_message(v, v->order.at[i]);
}

/* ---- what goes ----------------------------------------------------------------------------- */

struct range {
    size_t from, to; /* places in v->order */
    bool *stays;     /* by unit: not this one */
};

static bool is_going(const struct view *v, const struct range *r, size_t i) {
    return i >= r->from && i < r->to && !r->stays[at(v, i)->unit];
}

static bool is_calling(const struct view *v, const struct message *m) {
    if (m->role != ROLE_ASSISTANT) return false;
    for (VIEW_EACH_PART(v, p, m))
        if (view_part(v, p)->kind == PART_CALL) return true;
    return false;
}

/* The range that may go: a call is not left without its results, nor results without their call,
 * as far as roles tell. */
static void find_range(const struct pass *p, struct range *r) {
    const struct view *v = p->v;
    size_t n = v->order.count, a = (size_t)p->opt[SINKS], e = n - (size_t)p->opt[RECENT];
    e -= (e - a) % (size_t)p->common[COMMON_STEP];
    while (e && e < n && is_calling(v, at(v, e - 1))) e++;
    while (e < n && at(v, e)->role == ROLE_TOOL) e++;
    while (a < e && at(v, a)->role == ROLE_TOOL) a++;
    r->from = a;
    r->to = e;
}

/* With whole units, only units that lie in the range as a whole go, and neither the newest message
 * nor the last one a user wrote does. */
static paucis_err keep_whole_units(const struct pass *p, struct range *r) {
    const struct view *v = p->v;
    size_t n = v->order.count;
    bool whole = p->opt[WHOLE_UNITS] || p->opt[ALTERNATE] || v->ruled;
    r->stays = paucis__arena_alloc(v->arena, v->messages.count * sizeof *r->stays);
    if (!r->stays) return PAUCIS_E_NOMEM;
    memset(r->stays, 0, v->messages.count * sizeof *r->stays);
    for (size_t i = 0; i < n && whole; i++)
        if (i < r->from || i >= r->to || i == n - 1 || v->order.at[i] == v->loop ||
            !paucis__edit_may_drop_message(v, v->order.at[i]))
            r->stays[at(v, i)->unit] = true;
    return PAUCIS_OK;
}

static size_t run_end(const struct view *v, const struct range *r, size_t i) {
    while (is_going(v, r, i)) i++;
    return i;
}

static size_t run_start(const struct view *v, const struct range *r, size_t i) {
    while (i < r->to && !is_going(v, r, i)) i++;
    return i;
}

static bool is_users(const struct view *v, size_t i) {
    return at(v, i)->role == ROLE_USER || (at(v, i)->role == ROLE_TOOL && v->results_in_user);
}

/* Would these two side by side be two turns of one speaker? */
static bool collide(const struct view *v, size_t a, size_t b) {
    return is_users(v, a) == is_users(v, b) && (is_users(v, a) || v->results_in_user);
}

/* Shortens each run that goes until those who meet there do not collide; `marked`: in the first
 * run a user message comes between them. */
static void keep_alternating(const struct view *v, struct range *r, bool marked) {
    size_t n = v->order.count;
    for (size_t s = run_start(v, r, r->from), end; s < r->to; s = run_start(v, r, end)) {
        size_t t = end = run_end(v, r, s);
        while (marked && s && s < t && is_users(v, s - 1)) {
            r->stays[at(v, s)->unit] = true;
            while (s < t && !is_going(v, r, s)) s++;
        }
        while (s && s < t && t < n && (marked ? is_users(v, t) : collide(v, s - 1, t))) {
            r->stays[at(v, t - 1)->unit] = true;
            while (s < t && !is_going(v, r, t - 1)) t--;
        }
        marked = marked && s == t; /* nothing of it goes: the marker comes into the next run */
    }
}

/* ---- what it amounts to -------------------------------------------------------------------- */

struct sums {
    uint64_t messages, bytes;
};

static bool eat(struct span *s, struct span what) {
    if (s->len < what.len || memcmp(s->at, what.at, what.len) != 0) return false;
    *s = span_of(s->at + what.len, s->len - what.len);
    return true;
}

static bool eat_number(struct span *s, uint64_t *n) {
    size_t len = s->len;
    for (*n = 0; s->len && is_digit(s->at[0]) && *n < UINT64_MAX / 100;
         *s = span_of(s->at + 1, s->len - 1))
        *n = *n * 10 + (uint64_t)(s->at[0] - '0');
    return s->len < len;
}

/* What an earlier marker counted; nothing if this is none. */
static bool read_marker(struct span s, struct sums *sums) {
    return eat(&s, SPAN(MARKER_A)) && eat_number(&s, &sums->messages) && eat(&s, SPAN(MARKER_B)) &&
           eat_number(&s, &sums->bytes) && eat(&s, SPAN(MARKER_C)) && !s.len;
}

static uint64_t part_bytes(const struct pass *p, size_t i) {
    const struct view *v = p->v;
    const struct part *part = view_part(v, i);
    uint64_t id = p->opt[TOTALS] ? paucis__view_string_len(v, part->id) : 0;
    switch ((enum kind)part->kind) {
    case PART_CALL:
        return id + paucis__view_string_len(v, part->name) + paucis__view_text_len(v, i);
    case PART_TEXT:
    case PART_RESULT: return id + paucis__view_text_len(v, i);
    case PART_MEDIA: return p->opt[MEDIA_BYTES];
    case PART_THINKING: return p->opt[TOTALS] ? paucis__view_text_len(v, i) : 0;
    case PART_OPAQUE: break;
    }
    return 0;
}

static paucis_err add_message(struct pass *p, const struct message *m, struct sums *sums) {
    struct sums earlier = {1, 0};
    struct span text;
    if (p->opt[TOTALS] && m->role == ROLE_USER && m->live == 1 &&
        view_part(p->v, m->part)->kind == PART_TEXT) {
        PAUCIS_TRY(paucis__view_text(p->v, m->part, &text));
        if (!read_marker(text, &earlier)) earlier = (struct sums){1, text.len};
    } else {
        for (VIEW_EACH_PART(p->v, i, m)) earlier.bytes += part_bytes(p, i);
    }
    sums->messages += earlier.messages;
    sums->bytes += earlier.bytes;
    return PAUCIS_OK;
}

static struct span marker(struct pass *p, const struct sums *sums) {
    return paucis__pass_marker(p, MARKER_A "%n" MARKER_B "%m" MARKER_C, SPAN(""), sums->messages,
                               sums->bytes);
}

/* ---- how it goes --------------------------------------------------------------------------- */

static struct why trim_why(const struct pass *p) {
    return (struct why){p->strategy, "between the first and the newest messages"};
}

/* Drops what is going; *place is where it began, *sums what it was. *count: so many messages. */
static paucis_err drop_going(struct pass *p, const struct range *r, struct sums *sums,
                             size_t *place, size_t *count) {
    struct view *v = p->v;
    *place = NO_INDEX;
    *count = 0;
    for (size_t i = r->from; i < r->to; i++) {
        if (!is_going(v, r, i)) continue;
        if (*place == NO_INDEX) *place = v->order.at[i];
        ++*count;
        PAUCIS_TRY(add_message(p, at(v, i), sums));
        PAUCIS_TRY(paucis__edit_drop_message(v, trim_why(p), v->order.at[i]));
    }
    return PAUCIS_OK;
}

/* A message of its own says what went. *saved is what that is worth. */
static paucis_err trim_with_message(struct pass *p, const struct range *r, uint64_t *saved) {
    struct sums sums = {0, 0};
    size_t place, made, count;
    PAUCIS_TRY(drop_going(p, r, &sums, &place, &count));
    if (count < 2) return PAUCIS_E_INVARIANT;
    struct span text = marker(p, &sums);
    if (!text.at) return PAUCIS_E_NOMEM;
    *saved = saturating_sub(sums.bytes, text.len);
    return paucis__edit_insert(p->v, trim_why(p), place, NO_INDEX, text, &made);
}

/* In the unit that goes first: a result that can say something else, or else a text. */
static size_t find_carrier(const struct view *v, const struct range *r) {
    size_t text = NO_INDEX, first = run_start(v, r, r->from);
    for (size_t i = first; i < r->to && at(v, i)->unit == at(v, first)->unit; i++)
        for (VIEW_EACH_PART(v, k, at(v, i))) {
            const struct part *part = view_part(v, k);
            if (!(part->flags & PART_MAY_REPLACE) || !part->nslots) continue;
            if (part->kind == PART_RESULT) return k;
            if (part->kind == PART_TEXT && text == NO_INDEX) text = k;
        }
    return text;
}

/* A unit that stays says what went. */
static paucis_err trim_with_carrier(struct pass *p, struct range *r, uint64_t *saved) {
    struct view *v = p->v;
    size_t carrier = find_carrier(v, r), place, count;
    if (carrier == NO_INDEX) return PAUCIS_E_INVARIANT;
    struct sums sums = {0, paucis__view_text_len(v, carrier)};
    r->stays[view_message(v, view_part(v, carrier)->message)->unit] = true;
    keep_alternating(v, r, false);
    PAUCIS_TRY(drop_going(p, r, &sums, &place, &count));
    if (count < 2) return PAUCIS_E_INVARIANT;
    struct span text = marker(p, &sums);
    if (!text.at) return PAUCIS_E_NOMEM;
    *saved = saturating_sub(sums.bytes, text.len);
    return paucis__edit_replace(v, trim_why(p), carrier, text);
}

static paucis_err streaming_llm_run(struct pass *p) {
    struct view *v = p->v;
    struct range r;
    uint64_t saved;
    size_t n = v->order.count, edits = v->edits.count;
    if (n < p->opt[MIN_MESSAGES] || n < p->opt[RECENT] || n - p->opt[RECENT] < p->opt[SINKS])
        return PAUCIS_OK;
    find_range(p, &r);
    PAUCIS_TRY(keep_whole_units(p, &r));
    if (p->opt[ALTERNATE]) keep_alternating(v, &r, true);
    paucis_err err = trim_with_message(p, &r, &saved);
    if (err == PAUCIS_E_INVARIANT) {
        paucis__edit_undo(v, edits);
        err = v->insert_user ? err : trim_with_carrier(p, &r, &saved);
        if (err == PAUCIS_E_INVARIANT) paucis__edit_undo(v, edits);
    }
    if (err) return err == PAUCIS_E_INVARIANT ? PAUCIS_OK : err;
    p->counts->snippet_hits++;
    p->counts->total_bytes_saved += saved;
    return PAUCIS_OK;
}

const struct strategy paucis__st_streaming_llm = {
    .name = "streaming_llm",
    .summary = "keep the first and the newest messages, drop what lies between",
    .options =
        {
            [SINKS] = NUMBER("streaming_llm.sinks", 2, 0, "messages at the start that stay"),
            [RECENT] = NUMBER("streaming_llm.recent", 16, 0, "messages at the end that stay"),
            [MIN_MESSAGES] =
                NUMBER("streaming_llm.min_messages", 22, 0, "shorter conversations are left alone"),
            [WHOLE_UNITS] =
                SWITCH_OFF("streaming_llm.whole_units",
                           "a call goes only with its results, and the last user message stays"),
            [ALTERNATE] = SWITCH_OFF("streaming_llm.alternate",
                                     "whole units, and no two user messages come side by side"),
            [TOTALS] =
                SWITCH_OFF("streaming_llm.totals",
                           "thinking and ids count, and so does what an earlier marker counted"),
            [MEDIA_BYTES] =
                NUMBER("streaming_llm.media_bytes", 1024, 0, "what an image or a file counts"),
        },
    .run = streaming_llm_run,
};
