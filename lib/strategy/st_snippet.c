/* snippet: a long old result keeps its head and its tail. */
#include "strategy/strategy.h"

enum { MIN, KEEP_LAST, HEAD, TAIL, TRUST, SPARE_REFERRED };

static bool is_boundary(struct span s, size_t i) {
    return i == 0 || i >= s.len || ((unsigned char)s.at[i] & 0xc0) != 0x80;
}

static bool contains(struct span s, struct span what) {
    const char *at = s.at, *end = s.at + s.len;
    while ((at = memchr(at, what.at[0], (size_t)(end - at)))) {
        if ((size_t)(end - at) < what.len) return false;
        if (memcmp(at, what.at, what.len) == 0) return true;
        at++;
    }
    return false;
}

static bool looks_cut(struct span s) {
    return contains(s, SPAN("[...elided")) || (s.len >= 7 && memcmp(s.at, "[DEDUP]", 7) == 0);
}

static paucis_err snip(struct pass *p, size_t part, struct span text) {
    struct view *v = p->v;
    size_t h = (size_t)p->opt[HEAD], t = text.len - (size_t)p->opt[TAIL];
    while (!is_boundary(text, h)) h--;
    while (!is_boundary(text, t)) t++;
    struct span mark = paucis__pass_marker(p, "\n[...elided %n bytes...]\n", SPAN(""), t - h, 0);
    size_t len = h + mark.len + text.len - t;
    char *dst = mark.at ? paucis__arena_alloc(v->arena, len) : NULL;
    if (!dst) return PAUCIS_E_NOMEM;
    memcpy(dst, text.at, h);
    memcpy(dst + h, mark.at, mark.len);
    memcpy(dst + h + mark.len, text.at + t, text.len - t);
    bool done;
    PAUCIS_TRY(paucis__pass_replace(p, part, span_of(dst, len), NO_INDEX,
                                    "long result older than the window", &done));
    if (done) {
        p->counts->snippet_hits++;
        p->counts->total_bytes_saved += saturating_sub(text.len, len);
    }
    return PAUCIS_OK;
}

static paucis_err snippet_result(struct pass *p, size_t part) {
    struct view *v = p->v;
    struct span key, text;
    PAUCIS_TRY(paucis__view_key(v, part, &key));
    if (key.len < p->opt[MIN]) return PAUCIS_OK; /* decoding only makes it shorter */
    PAUCIS_TRY(paucis__view_text(v, part, &text));
    if (text.len < p->opt[MIN] || text.len <= p->opt[HEAD] + p->opt[TAIL]) return PAUCIS_OK;
    bool cut = p->opt[TRUST] ? looks_cut(text) : view_part(v, part)->edit != NO_INDEX;
    return cut ? PAUCIS_OK : snip(p, part, text);
}

static paucis_err snippet_run(struct pass *p) {
    struct view *v = p->v;
    const bool *referred = NULL;
    size_t limit = paucis__pass_limit(p, p->opt[KEEP_LAST]);
    if (p->opt[SPARE_REFERRED]) PAUCIS_TRY(paucis__referred_parts(v, &referred));
    for (size_t i = 0; i < limit; i++)
        for (VIEW_EACH_PART(v, k, view_message(v, v->order.at[i])))
            if (view_part(v, k)->kind == PART_RESULT && !(referred && referred[k]))
                PAUCIS_TRY(snippet_result(p, k));
    return PAUCIS_OK;
}

const struct strategy paucis__st_snippet = {
    .name = "snippet",
    .summary = "cut long old results to head and tail",
    .options =
        {
            [MIN] = NUMBER("snippet.min", 4096, 0, "results shorter than this are left alone"),
            [KEEP_LAST] = NUMBER("snippet.keep_last", 8, 0, "messages at the end that stay"),
            [HEAD] = NUMBER("snippet.head", 1024, 0, "bytes kept at the start"),
            [TAIL] = NUMBER("snippet.tail", 1024, 0, "bytes kept at the end"),
            [TRUST] = SWITCH_ON("snippet.trust", "a result that looks cut is taken to be cut"),
            [SPARE_REFERRED] = SWITCH_OFF("snippet.spare_referred",
                                          "a result that a reference points to stays whole"),
        },
    .run = snippet_run,
};
