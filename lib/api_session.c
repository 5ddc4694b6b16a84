/* Sessions of paucis.h: the fold for those who hold the conversation themselves. */
#include "api.h"
#include "core/os.h"
#include "limits.h"
#include "plan/settings.h"
#include "stable/budget.h"
#include "stable/items.h"

struct paucis_session {
    struct mem mem;
    struct arena arena; /* texts as they came, and those of forms; nothing is given back */
    struct fold fold;
    struct paucis_price price;
    VEC(struct span) texts;
    struct item_set calls; /* ids of calls: their part, plus 1 */
    size_t nameless;       /* no call without an id before this part is still open */
    uint64_t bytes;        /* as they came */
    bool failed;           /* memory ran out: of no further use */
};

static paucis_err session_text(void *ud, size_t part, struct span *out) {
    const paucis_session *s = ud;
    *out = s->texts.at[part];
    return PAUCIS_OK;
}

static struct span session_copy(paucis_session *s, const char *text, size_t n) {
    char *copy = paucis__arena_alloc(&s->arena, n);
    if (copy && n) memcpy(copy, text, n);
    return span_of(copy, n);
}

/* A text among the options, if it is given, as the session's own: the caller's need not outlive the
 * call. */
static bool session_own(paucis_session *s, const char **text) {
    if (*text && !(*text = session_copy(s, *text, strlen(*text) + 1).at)) return false;
    return true;
}

paucis_err paucis_session_new(paucis_session **out, const paucis_alloc *alloc,
                              const paucis_opts *given, paucis_error *e) {
    struct settings settings;
    paucis_opts opts;
    paucis_error error;
    if (!e) e = &error;
    *e = (paucis_error){PAUCIS_E_ARG, "a NULL argument", 0};
    if (out) *out = NULL;
    if (!out || (alloc && !alloc->resize)) return PAUCIS_E_ARG;
    PAUCIS_TRY(paucis__api_settings(&settings, &opts, given, e));
    if (!settings_fold(&settings) || settings.policy->leave) {
        *e = (paucis_error){PAUCIS_E_ARG, "a session follows the stable policy", 0};
        return PAUCIS_E_ARG;
    }
    struct mem mem = {0};
    if (alloc) mem.alloc = *alloc;
    paucis_session *s = paucis__mem_resize(&mem, NULL, 0, sizeof *s);
    *e = (paucis_error){s ? PAUCIS_OK : PAUCIS_E_NOMEM, s ? "done" : "out of memory", 0};
    if (!s) return PAUCIS_E_NOMEM;
    memset(s, 0, sizeof *s);
    s->mem = mem;
    s->price = settings.stable.price ? *settings.stable.price : *paucis_price_at(0);
    settings.stable.price = &s->price;
    settings.stable.sent = false; /* a session remembers what it sent */
    s->calls.seed = paucis__os_seed();
    s->arena.mem = s->calls.mem = s->fold.mem = s->fold.rent.mem = &s->mem;
    s->fold.arena = &s->arena;
    s->fold.forms.seed = paucis__os_seed();
    s->fold.source = (struct fold_source){session_text, session_text, s};
    if (!session_own(s, &settings.stable.never) || !session_own(s, &settings.stable.still) ||
        !session_own(s, &settings.stable.cold)) {
        paucis_session_free(s);
        *e = (paucis_error){PAUCIS_E_NOMEM, "out of memory", 0};
        return PAUCIS_E_NOMEM;
    }
    paucis__stable_begin(&s->fold, &settings.stable, settings.flags & PAUCIS_BOUND);
    *out = s;
    return PAUCIS_OK;
}

void paucis_session_free(paucis_session *s) {
    if (!s) return;
    paucis__fold_free(&s->fold);
    VEC_FREE(&s->mem, s->texts);
    paucis__items_free(&s->calls);
    paucis__arena_free(&s->arena);
    struct mem mem = s->mem;
    paucis__mem_resize(&mem, s, sizeof *s, 0);
}

/* A name's place in a list, or that of the list's end. */
static size_t place(const char *name, const char *const *names) {
    size_t i = 0;
    while (names[i] && (!name || strcmp(names[i], name) != 0)) i++;
    return i;
}

/* A result without an id takes the first open call that has none either. */
static void session_pair_nameless(paucis_session *s, struct fold_part *p) {
    const struct fold *f = &s->fold;
    for (; p->kind == PART_RESULT && s->nameless < f->parts.count; s->nameless++) {
        const struct fold_part *call = &f->parts.at[s->nameless];
        if (call->kind != PART_CALL || call->id.len) continue;
        p->mate = (uint32_t)s->nameless++;
        return;
    }
}

/* Calls are remembered by their ids; a result finds its call, as in paucis__view_link. */
static paucis_err session_pair(paucis_session *s, struct fold_part *p) {
    if (p->kind != PART_CALL && p->kind != PART_RESULT) return PAUCIS_OK;
    if (!p->id.len) {
        session_pair_nameless(s, p);
        return PAUCIS_OK;
    }
    uint32_t at = item_add(&s->calls, item_hash(p->id.at, p->id.len));
    if (at == NO_ITEM) return PAUCIS_E_NOMEM;
    uint32_t *call = &s->calls.values.at[at];
    if (p->kind == PART_CALL)
        *call = (uint32_t)s->fold.parts.count + 1;
    else if (*call)
        p->mate = *call - 1;
    return PAUCIS_OK;
}

static paucis_err session_part(paucis_session *s, const paucis_part *p, size_t role, size_t kind) {
    if (!VEC_ROOM(&s->mem, s->texts, 1)) return PAUCIS_E_NOMEM;
    struct fold_part part = {.message = (uint32_t)p->message,
                             .role = (uint8_t)role,
                             .kind = (uint8_t)kind,
                             .len = p->text_len,
                             .mate = NO_INDEX,
                             .id = session_copy(s, p->id, p->id_len),
                             .name = session_copy(s, p->name, p->name_len)};
    if (kind == PART_MEDIA || kind == PART_OPAQUE) part.len = 0; /* as paucis_compact has it */
    if (!(p->flags & PAUCIS_PART_FIXED)) part.flags |= FOLD_OPEN;
    if (p->flags & PAUCIS_PART_ERROR) part.flags |= FOLD_ERROR;
    if (kind == PART_THINKING && s->fold.limits.bound) part.flags |= FOLD_BOUND;
    struct span text = session_copy(s, p->text, p->text_len);
    if (!text.at || !part.id.at || !part.name.at) return PAUCIS_E_NOMEM;
    PAUCIS_TRY(session_pair(s, &part));
    PAUCIS_TRY(paucis__fold_add(&s->fold, &part));
    s->texts.at[s->texts.count++] = text;
    s->bytes += text.len;
    return PAUCIS_OK;
}

paucis_err paucis_session_add(paucis_session *s, const paucis_part *p) {
    static const char *const roles[] = {"system", "user", "assistant", "tool", NULL};
    static const char *const kinds[] = {"text",  "call",   "result", "thinking",
                                        "media", "opaque", NULL};
    if (!s || !p || (!p->text && p->text_len) || (!p->id && p->id_len) || (!p->name && p->name_len))
        return PAUCIS_E_ARG;
    size_t role = place(p->role, roles), kind = place(p->kind, kinds);
    if (!roles[role] || !kinds[kind]) return PAUCIS_E_ARG;
    size_t next = s->fold.messages;
    if (p->message != next && (!next || p->message != next - 1)) return PAUCIS_E_ARG;
    if (next >= PAUCIS_MAX_MESSAGES || p->text_len > PAUCIS_MAX_BODY - s->bytes)
        return PAUCIS_E_LIMIT;
    paucis_err err = s->failed ? PAUCIS_E_NOMEM : session_part(s, p, role, kind);
    s->failed = err != PAUCIS_OK;
    return err;
}

paucis_err paucis_session_request(paucis_session *s, paucis_step *step) {
    if (!s || !step) return PAUCIS_E_ARG;
    *step = (paucis_step){.cut = SIZE_MAX};
    paucis_err err = s->failed ? PAUCIS_E_NOMEM : paucis__fold_request(&s->fold, true);
    s->failed = err != PAUCIS_OK;
    if (err) return err;
    const struct fold *f = &s->fold;
    step->changes = f->changed.count;
    step->budget_met = paucis__budget_is_met(f);
    step->bytes_in = s->bytes;
    if (f->cut.part != SIZE_MAX) {
        step->cut = f->parts.at[f->cut.part].message;
        step->forced = f->cut.forced;
        step->rent = (uint64_t)f->cut.rent;
        step->price = (uint64_t)f->cut.price;
    }
    step->bytes_out = 4 * (uint64_t)f->size;
    return PAUCIS_OK;
}

paucis_err paucis_session_change(const paucis_session *s, size_t i, paucis_change *out) {
    static const char *const forms[] = {"full", "reference", "capped", "short", "marker", "gone"};
    if (!s || !out || s->failed || i >= s->fold.changed.count) return PAUCIS_E_ARG;
    size_t part = s->fold.changed.at[i];
    const struct fold_part *p = &s->fold.parts.at[part];
    struct span text = p->form == FORM_FULL ? s->texts.at[part] : p->now;
    *out = (paucis_change){.part = part,
                           .form = forms[p->form],
                           .reason = p->reason,
                           .text = p->form == FORM_GONE ? NULL : text.at,
                           .text_len = p->form == FORM_GONE ? 0 : text.len};
    return PAUCIS_OK;
}
