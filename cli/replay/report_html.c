/* The report as one page: page.html, which the build turns into an array, with the JSON report and
 * the course of one session put where it says @DATA@. */
#include "replay/replay.h"

#include <inttypes.h>
#include <string.h>

#include <replay_page.h> /* made by the build: page_html, page_html_size */

static void numbers(struct buf *b, const char *key, const struct course *c, size_t n, bool cached) {
    buf_fmt(b, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++)
        buf_fmt(b, "%s%" PRIu64, i ? "," : "", cached ? c[i].cached : c[i].total);
    buf_str(b, "]");
}

static void course_json(struct buf *b, const struct results *r) {
    const struct shown *s = &r->shown;
    bool any = false;
    buf_str(b, "{\"id\":");
    json_cstr(b, s->id);
    buf_str(b, ",\"policies\":[");
    for (size_t i = 0; i < r->npolicies; i++) {
        const struct course *c = s->course + i * s->turns;
        bool first = true;
        if (!s->ran[i] || !is_shown(r, i, 0, false)) continue;
        buf_fmt(b, "%s{\"policy\":", any ? ",\n" : "");
        any = true;
        json_cstr(b, r->policies[i].name);
        numbers(b, "total", c, s->turns, false);
        numbers(b, "cached", c, s->turns, true);
        buf_str(b, ",\"cuts\":[");
        for (size_t t = 0; t < s->turns; t++) {
            if (!c[t].cut) continue;
            buf_fmt(b, "%s%zu", first ? "" : ",", t);
            first = false;
        }
        buf_str(b, "]}");
    }
    buf_str(b, "]}");
}

/* A page ends its data at the first </script>; inside JSON strings < may be spelled otherwise. */
static void add_safely(struct buf *b, const struct buf *json) {
    const char *p = json->data, *end = p + json->len;
    while (p < end) {
        const char *lt = memchr(p, '<', (size_t)(end - p));
        buf_add(b, p, (size_t)((lt ? lt : end) - p));
        if (!lt) break;
        buf_str(b, "\\u003c");
        p = lt + 1;
    }
}

void report_html(struct buf *b, const struct results *r) {
    static const struct str mark = {"@DATA@", 6};
    struct str page = {(const char *)page_html, page_html_size};
    struct buf json = {0};
    const char *at = str_find(page, mark);
    report_json(&json, r, DETAIL_PAGE);
    while (json.len > 0 && json.data[json.len - 1] != '}') json.len--;
    if (json.len > 0) json.len--;
    buf_str(&json, ",\"course\":");
    if (r->shown.course)
        course_json(&json, r);
    else
        buf_str(&json, "null");
    buf_str(&json, "}");
    b->failed = b->failed || json.failed || !at;
    if (!b->failed) {
        buf_add(b, page.at, (size_t)(at - page.at));
        add_safely(b, &json);
        buf_add(b, at + mark.len, page.len - (size_t)(at - page.at) - mark.len);
    }
    buf_free(&json);
}
