/* See mcp.h. JSON-RPC 2.0; every message stands alone, so there is no session to keep: a client
 * that begins with initialize is told what there is, and one that does not is served all the same.
 *
 * Tool definitions cost tokens in every request of the agent, so there is one tool with three short
 * parameters. Faults that the model can do something about (a handle that is not there) are results
 * of the tool; faults of the client are errors of the protocol. */
#include "mcp.h"

#ifdef PAUCIS_STORE
#include "replay/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOT_JSON = -32700,
    NOT_A_REQUEST = -32600,
    NO_METHOD = -32601,
    BAD_PARAMS = -32602,
    NO_RESOURCE = -32002
};
enum { PAGE = 50, MOST_BYTES = 48000 /* of one answer; the rest is asked for by lines */ };

static const char scheme[] = "paucis:///";

/* Newest first: the answer to a version that is not known. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static const char tools[] =
    "{\"tools\":[{\"name\":\"recall\",\"description\":\"Returns a text that was left out of this "
    "conversation, by the handle in its marker: [full text: HANDLE, ...]\",\"inputSchema\":{"
    "\"type\":\"object\",\"properties\":{\"handle\":{\"type\":\"string\"},\"lines\":{\"type\":"
    "\"string\",\"description\":\"range, as 10-40\"},\"grep\":{\"type\":\"string\",\"description\":"
    "\"regular expression; only lines that match\"}},\"required\":[\"handle\"]},\"annotations\":{"
    "\"readOnlyHint\":true}}]}";

static const char templates[] =
    "{\"resourceTemplates\":[{\"uriTemplate\":\"paucis:///{handle}\",\"name\":\"removed text\","
    "\"mimeType\":\"text/plain\"}]}";

struct request {
    struct store *store;
    struct jdoc doc;
    struct arena arena;
    struct str id; /* as it stands in the message */
    size_t params; /* node, 0 = none */
    struct buf *out;
};

/* ---- answers ------------------------------------------------------------------------------- */

static void answer_begin(struct request *r) {
    buf_str(r->out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add(r->out, r->id.at, r->id.len);
    buf_str(r->out, ",\"result\":");
}

static void answer_text(struct request *r, const char *result) {
    answer_begin(r);
    buf_str(r->out, result);
    buf_str(r->out, "}");
}

static void answer_error(struct request *r, int code, const char *text) {
    buf_str(r->out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add(r->out, r->id.at, r->id.len);
    buf_fmt(r->out, ",\"error\":{\"code\":%d,\"message\":", code);
    json_cstr(r->out, text);
    buf_str(r->out, "}}");
}

/* A text among the parameters, with a NUL behind it; NULL if it is not there. */
static const char *param(struct request *r, size_t object, const char *key, bool *wrong) {
    size_t i = object ? j_get(&r->doc, object, key) : 0;
    if (!i) return NULL;
    if (r->doc.node[i].kind != J_STRING) {
        *wrong = true;
        return NULL;
    }
    return arena_copy(&r->arena, j_string(&r->doc, i, &r->arena)).at;
}

/* ---- methods ------------------------------------------------------------------------------- */

static void initialize(struct request *r) {
    bool wrong = false;
    const char *asked = param(r, r->params, "protocolVersion", &wrong), *version = versions[0];
    for (size_t i = 0; asked && i < sizeof versions / sizeof *versions; i++)
        if (strcmp(asked, versions[i]) == 0) version = versions[i];
    answer_begin(r);
    buf_fmt(r->out,
            "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{},\"resources\":{}},"
            "\"serverInfo\":{\"name\":\"paucis\",\"version\":\"%s\"}}}",
            version, paucis_version_string());
}

static void ping(struct request *r) { answer_text(r, "{}"); }

static void tools_list(struct request *r) { answer_text(r, tools); }

static void templates_list(struct request *r) { answer_text(r, templates); }

/* Ends a long text behind a line and says how to get at the rest. */
static void shorten(struct buf *text) {
    size_t end = text->len, lines = 0;
    if (end <= MOST_BYTES) return;
    end = MOST_BYTES;
    while (end > 0 && text->data[end - 1] != '\n') end--;
    if (end == 0) return; /* one line: there is no way to ask for less */
    for (size_t i = 0; i < end; i++) lines += text->data[i] == '\n';
    size_t left = text->len - end;
    text->len = end;
    buf_fmt(text, "[%zu lines shown; %zu bytes more: ask for a range with lines, or for grep]",
            lines, left);
}

static void tools_call(struct request *r) {
    bool wrong = false;
    char why[STORE_WHY] = "";
    const char *name = param(r, r->params, "name", &wrong);
    size_t given = r->params ? j_get(&r->doc, r->params, "arguments") : 0;
    struct recall what = {.handle = param(r, given, "handle", &wrong),
                          .lines = param(r, given, "lines", &wrong),
                          .grep = param(r, given, "grep", &wrong),
                          .numbers = true};
    if (!name || strcmp(name, "recall") != 0) {
        answer_error(r, BAD_PARAMS, "unknown tool");
        return;
    }
    if (!what.handle || wrong) {
        answer_error(r, BAD_PARAMS, "recall needs 'handle', and all its arguments are strings");
        return;
    }
    if (what.lines && !*what.lines) what.lines = NULL; /* some clients send every parameter */
    if (what.grep && !*what.grep) what.grep = NULL;
    struct buf text = {0};
    bool failed = recall(r->store, &what, &text, why) != EXIT_DONE;
    if (!failed) shorten(&text);
    answer_begin(r);
    buf_str(r->out, "{\"content\":[{\"type\":\"text\",\"text\":");
    if (failed)
        json_cstr(r->out, why);
    else
        json_str(r->out, text.data ? text.data : "", text.len);
    buf_fmt(r->out, "}],\"isError\":%s}}", failed ? "true" : "false");
    buf_free(&text);
}

struct page {
    struct buf *out;
    uint64_t skip, shown, seen;
};

static bool page_row(void *ud, const struct store_row *row) {
    struct page *p = ud;
    char hex[HASH_DIGITS + 1];
    if (!(row->kind & KEPT_TEXT) || !row->stored || p->seen++ < p->skip) return true;
    if (p->shown == PAGE) return false;
    hash_hex(&row->hash, hex);
    buf_fmt(p->out, "%s{\"uri\":\"%s%.16s\",\"name\":\"%.16s\",\"mimeType\":\"text/plain\"",
            p->shown++ ? "," : "", scheme, hex, hex);
    buf_fmt(p->out, ",\"size\":%" PRIu64 "}", row->size);
    return true;
}

static void resources_list(struct request *r) {
    bool wrong = false;
    const char *cursor = param(r, r->params, "cursor", &wrong);
    struct buf rows = {0};
    struct page p = {.out = &rows};
    if (wrong || (cursor && !parse_count(cursor, &p.skip))) {
        answer_error(r, BAD_PARAMS, "not a cursor of ours");
    } else if (store_each(r->store, NULL, 0, page_row, &p) != STORE_OK) {
        answer_error(r, -32603, "the store failed");
    } else {
        answer_begin(r);
        buf_str(r->out, "{\"resources\":[");
        buf_add(r->out, rows.data, rows.len);
        buf_str(r->out, "]");
        if (p.seen > p.skip + PAGE)
            buf_fmt(r->out, ",\"nextCursor\":\"%" PRIu64 "\"", p.skip + PAGE);
        buf_str(r->out, "}}");
    }
    buf_free(&rows);
}

static void resources_read(struct request *r) {
    bool wrong = false;
    char why[STORE_WHY] = "not a resource of ours";
    const char *uri = param(r, r->params, "uri", &wrong);
    struct buf text = {0};
    if (!uri) {
        answer_error(r, BAD_PARAMS, "resources/read needs 'uri'");
        return;
    }
    bool ours = strncmp(uri, scheme, sizeof scheme - 1) == 0;
    struct recall what = {.handle = ours ? uri + sizeof scheme - 1 : ""};
    if (!ours || recall(r->store, &what, &text, why) != EXIT_DONE) {
        answer_error(r, NO_RESOURCE, why);
    } else {
        answer_begin(r);
        buf_str(r->out, "{\"contents\":[{\"uri\":");
        json_cstr(r->out, uri);
        buf_str(r->out, ",\"mimeType\":\"text/plain\",\"text\":");
        json_str(r->out, text.data ? text.data : "", text.len);
        buf_str(r->out, "}]}}");
    }
    buf_free(&text);
}

static const struct {
    const char *name;
    void (*run)(struct request *r);
} methods[] = {{"initialize", initialize},         {"ping", ping},
               {"tools/list", tools_list},         {"tools/call", tools_call},
               {"resources/list", resources_list}, {"resources/templates/list", templates_list},
               {"resources/read", resources_read}};

/* ---- messages ------------------------------------------------------------------------------ */

/* The root is node 0, so a member's node is never 0. */
static void handle(struct request *r) {
    const struct jdoc *d = &r->doc;
    bool wrong = d->node[0].kind != J_OBJECT;
    size_t id = wrong ? 0 : j_get(d, 0, "id"), method = wrong ? 0 : j_get(d, 0, "method");
    size_t version = wrong ? 0 : j_get(d, 0, "jsonrpc");
    bool named = id && (d->node[id].kind == J_STRING || d->node[id].kind == J_NUMBER);
    if (named) r->id = j_raw(d, id);
    if (!wrong && !method && (j_get(d, 0, "result") || j_get(d, 0, "error")))
        return; /* an answer to something that was never asked */
    if (!method || d->node[method].kind != J_STRING || (id && !named) || !version ||
        !str_is(j_raw(d, version), "\"2.0\"")) {
        answer_error(r, NOT_A_REQUEST, "not a JSON-RPC 2.0 request");
        return;
    }
    if (!id) return; /* a notification: there is nothing here that one could change */
    r->params = j_get(d, 0, "params");
    if (r->params && d->node[r->params].kind != J_OBJECT) {
        answer_error(r, BAD_PARAMS, "params is not an object");
        return;
    }
    struct str name = j_string(d, method, &r->arena);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (str_is(name, methods[i].name)) {
            methods[i].run(r);
            return;
        }
    answer_error(r, NO_METHOD, "no such method");
}

void mcp_answer(struct store *s, const char *message, size_t n, struct buf *out) {
    struct request r = {.store = s, .id = str_of("null"), .out = out};
    if (jdoc_read(&r.doc, message, n))
        handle(&r);
    else
        answer_error(&r, NOT_JSON, "not valid JSON");
    arena_free(&r.arena);
    jdoc_free(&r.doc);
}
#endif
