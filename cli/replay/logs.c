/* Session logs as agents keep them on disk, turned into traces in memory.
 *
 * Claude Code writes a line for each block of a message: adjacent lines of the user are one message
 * of the request, lines of the assistant with the same message id are one reply. Codex writes a
 * line for each item of the Responses format, and events between them. Both say what was billed for
 * each request. When a log says that the history was compacted, a new session begins there.
 *
 * What comes out is a line like any other trace, with two more lists that go with the elements of
 * the request: `when`, the time of each in seconds, and `billed`, what the request for it cost. */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

enum log_kind { LOG_NONE, LOG_CLAUDE, LOG_CODEX };

struct logs {
    struct arena arena; /* decoded strings, for one file */
    struct jdoc doc;
    enum log_kind kind;
    const char *name;
    struct buf elements, when, billed; /* of the session being read */
    size_t count;                      /* elements */
    size_t window;
    struct buf blocks; /* of the message being read */
    struct str role, message_id;
    double time;
    struct usage usage;
    bool has_usage, sidechain, begun;
    uint64_t last_input; /* of the newest request with a usage */
    struct str model, instructions;
    char **lines; /* sessions that are ready */
    size_t nlines, lines_cap;
};

/* ---- time ------------------------------------------------------------------------------------ */

static bool two_digits(const char *s, int n, long *out) {
    *out = 0;
    for (int i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') return false;
        *out = *out * 10 + (s[i] - '0');
    }
    return true;
}

/* 2026-01-31T12:34:56.789Z in seconds since 1970; 0 if it is something else. */
static double parse_time(struct str s) {
    long y, m, d, h, min, sec;
    if (s.len < 19 || !two_digits(s.at, 4, &y) || !two_digits(s.at + 5, 2, &m) ||
        !two_digits(s.at + 8, 2, &d) || !two_digits(s.at + 11, 2, &h) ||
        !two_digits(s.at + 14, 2, &min) || !two_digits(s.at + 17, 2, &sec) || m < 1 || m > 12)
        return 0;
    /* Days since 1970-01-01, with the year begun in March. */
    y -= m <= 2;
    long era = y / 400, yoe = y % 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    long days = era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
    return (double)days * 86400 + (double)(h * 3600 + min * 60 + sec);
}

/* ---- a session ------------------------------------------------------------------------------- */

static void add_element(struct logs *l, struct str json) {
    if (l->count++) {
        buf_str(&l->elements, ",");
        buf_str(&l->when, ",");
        buf_str(&l->billed, ",");
    }
    buf_add(&l->elements, json.at, json.len);
    buf_fmt(&l->when, "%.0f", l->time);
    if (l->has_usage)
        buf_fmt(&l->billed, "{\"fresh\":%llu,\"written\":%llu,\"read\":%llu}",
                (unsigned long long)l->usage.fresh, (unsigned long long)l->usage.written,
                (unsigned long long)l->usage.read);
    else
        buf_str(&l->billed, "null");
    if (l->has_usage) l->last_input = l->usage.fresh + l->usage.written + l->usage.read;
    l->has_usage = false;
}

/* The message whose blocks have been gathered becomes an element. */
static void end_blocks(struct logs *l) {
    struct buf b = {0};
    if (l->blocks.len == 0) return;
    buf_str(&b, "{\"role\":");
    json_str(&b, l->role.at, l->role.len);
    buf_str(&b, ",\"content\":[");
    buf_add(&b, l->blocks.data, l->blocks.len);
    buf_str(&b, "]}");
    add_element(l, (struct str){b.data, b.len});
    buf_free(&b);
    l->blocks.len = 0;
}

static void end_session(struct logs *l) {
    struct buf b = {0};
    bool claude = l->kind == LOG_CLAUDE;
    end_blocks(l);
    if (l->count == 0) return;
    buf_str(&b, "{\"id\":");
    json_cstr(&b, l->name);
    b.len--; /* the closing quote */
    buf_fmt(&b, "#%zu\",\"agent\":\"%s\",\"format\":\"%s\"", l->window++,
            claude ? "Claude Code" : "Codex CLI", claude ? "anthropic" : "openai-responses");
    if (l->last_input)
        buf_fmt(&b, ",\"logged_input_tokens\":%llu", (unsigned long long)l->last_input);
    buf_str(&b, ",\"when\":[");
    buf_add(&b, l->when.data, l->when.len);
    buf_str(&b, "],\"billed\":[");
    buf_add(&b, l->billed.data, l->billed.len);
    buf_str(&b, "],\"request\":{\"model\":");
    json_str(&b, l->model.at ? l->model.at : "", l->model.len);
    if (l->instructions.len) {
        buf_str(&b, ",\"instructions\":");
        json_str(&b, l->instructions.at, l->instructions.len);
    }
    buf_str(&b, claude ? ",\"messages\":[" : ",\"input\":[");
    buf_add(&b, l->elements.data, l->elements.len);
    buf_add(&b, "]}}", 4); /* with the NUL */
    if (b.failed) heap_get(SIZE_MAX);
    *PUSH(l->lines, l->nlines, l->lines_cap) = b.data;
    l->elements.len = l->when.len = l->billed.len = 0;
    l->count = 0;
    l->last_input = 0;
}

/* ---- Claude Code ----------------------------------------------------------------------------- */

static uint64_t count_of(const struct jdoc *d, size_t object, const char *key) {
    double v;
    return object && j_number(d, j_get(d, object, key), &v) && v > 0 ? (uint64_t)v : 0;
}

static void add_blocks(struct logs *l, size_t content) {
    const struct jdoc *d = &l->doc;
    struct str raw = j_raw(d, content);
    bool list = d->node[content].kind == J_ARRAY;
    if (list && d->node[content].end == content + 1) return;
    if (l->blocks.len) buf_str(&l->blocks, ",");
    if (list) {
        buf_add(&l->blocks, raw.at + 1, raw.len - 2);
    } else {
        buf_str(&l->blocks, "{\"type\":\"text\",\"text\":");
        buf_add(&l->blocks, raw.at, raw.len);
        buf_str(&l->blocks, "}");
    }
}

static bool is_true(const struct jdoc *d, const char *key) {
    size_t i = j_get(d, 0, key);
    return i && d->node[i].kind == J_TRUE;
}

static void claude_message(struct logs *l, size_t message, bool user) {
    const struct jdoc *d = &l->doc;
    size_t content = j_get(d, message, "content"), usage = j_get(d, message, "usage");
    struct str id = j_text(d, message, "id", &l->arena), model;
    struct str role = str_of(user ? "user" : "assistant");
    bool same = str_eq(role, l->role) && (user || str_eq(id, l->message_id));
    if (!content || (d->node[content].kind != J_STRING && d->node[content].kind != J_ARRAY)) return;
    if (!same) end_blocks(l);
    if (l->blocks.len == 0 || user) l->time = parse_time(j_text(d, 0, "timestamp", &l->arena));
    l->role = role;
    l->message_id = arena_copy(&l->arena, id);
    if (usage) {
        l->usage = (struct usage){count_of(d, usage, "input_tokens"),
                                  count_of(d, usage, "cache_creation_input_tokens"),
                                  count_of(d, usage, "cache_read_input_tokens")};
        l->has_usage = l->usage.fresh + l->usage.written + l->usage.read > 0;
    }
    model = j_text(d, message, "model", &l->arena);
    if (model.len && model.at[0] != '<') l->model = arena_copy(&l->arena, model);
    add_blocks(l, content);
}

static void claude_line(struct logs *l) {
    const struct jdoc *d = &l->doc;
    struct str type = j_text(d, 0, "type", &l->arena);
    size_t message = j_get(d, 0, "message");
    bool user = str_is(type, "user");
    if (str_is(j_text(d, 0, "subtype", &l->arena), "compact_boundary")) end_session(l);
    if (!message || (!user && !str_is(type, "assistant"))) return;
    /* The work of subagents stands between the lines, or in a file of its own. */
    if (!l->begun) l->sidechain = is_true(d, "isSidechain");
    l->begun = true;
    if (is_true(d, "isSidechain") != l->sidechain || is_true(d, "isApiErrorMessage")) return;
    claude_message(l, message, user);
}

/* ---- Codex ----------------------------------------------------------------------------------- */

static bool is_reply(struct str type, struct str role) {
    bool call = type.len > 5 && memcmp(type.at + type.len - 5, "_call", 5) == 0;
    return call || str_is(type, "reasoning") || str_is(role, "assistant");
}

/* A usage comes behind the reply it is for: the newest element that is a reply and has none yet
 * takes it. Elements of the same reply before it keep null, so it is put at the reply's end. */
static void codex_usage(struct logs *l, size_t payload) {
    const struct jdoc *d = &l->doc;
    size_t info = j_get(d, payload, "info");
    size_t last = info ? j_get(d, info, "last_token_usage") : 0;
    uint64_t input = count_of(d, last, "input_tokens");
    uint64_t cached = count_of(d, last, "cached_input_tokens");
    static const char none[] = "null";
    if (!input || l->billed.len < 4 || cached > input) return;
    if (memcmp(l->billed.data + l->billed.len - 4, none, 4) != 0 || !str_is(l->role, "reply"))
        return;
    l->billed.len -= 4;
    buf_fmt(&l->billed, "{\"fresh\":0,\"written\":%llu,\"read\":%llu}",
            (unsigned long long)(input - cached), (unsigned long long)cached);
    l->last_input = input;
}

static void codex_item(struct logs *l, size_t item) {
    const struct jdoc *d = &l->doc;
    struct str type = j_text(d, item, "type", &l->arena);
    struct str role = j_text(d, item, "role", &l->arena);
    bool output = type.len > 7 && memcmp(type.at + type.len - 7, "_output", 7) == 0;
    bool reply = is_reply(type, role);
    if (!reply && !output && !str_is(type, "message")) return;
    l->time = parse_time(j_text(d, 0, "timestamp", &l->arena));
    l->role = str_of(reply ? "reply" : "other");
    add_element(l, j_raw(d, item));
}

static void codex_compacted(struct logs *l, size_t payload) {
    const struct jdoc *d = &l->doc;
    size_t history = j_get(d, payload, "replacement_history"), text = j_get(d, payload, "message");
    struct buf b = {0};
    end_session(l);
    for (size_t i = history + 1; history && i < d->node[history].end; i = d->node[i].end)
        codex_item(l, i);
    if (history || !text || d->node[text].kind != J_STRING) return;
    struct str raw = j_raw(d, text);
    buf_str(&b, "{\"type\":\"message\",\"role\":\"user\",\"content\":");
    buf_add(&b, raw.at, raw.len);
    buf_str(&b, "}");
    add_element(l, (struct str){b.data, b.len});
    buf_free(&b);
}

static void codex_line(struct logs *l) {
    const struct jdoc *d = &l->doc;
    struct str type = j_text(d, 0, "type", &l->arena);
    size_t payload = j_get(d, 0, "payload");
    struct str inner = payload ? j_text(d, payload, "type", &l->arena) : (struct str){"", 0};
    if (str_is(type, "session_meta") || (!payload && !type.len))
        l->instructions = arena_copy(&l->arena, j_text(d, payload, "instructions", &l->arena));
    else if (str_is(type, "turn_context"))
        l->model = arena_copy(&l->arena, j_text(d, payload, "model", &l->arena));
    else if (str_is(type, "compacted"))
        codex_compacted(l, payload);
    else if (str_is(type, "event_msg") && str_is(inner, "token_count"))
        codex_usage(l, payload);
    else if (str_is(type, "response_item") || !payload)
        codex_item(l, payload);
}

/* ---- a file ---------------------------------------------------------------------------------- */

static enum log_kind kind_of_line(const struct jdoc *d, struct arena *a) {
    static const char *const claude[] = {
        "user", "assistant", "system", "summary", "file-history-snapshot", "queue-operation"};
    if (d->node[0].kind != J_OBJECT) return LOG_NONE;
    if (j_get(d, 0, "request") || j_get(d, 0, "messages") || j_get(d, 0, "input")) return LOG_NONE;
    struct str type = j_text(d, 0, "type", a);
    if (j_get(d, 0, "payload") || str_is(type, "session_meta")) return LOG_CODEX;
    if (!type.len && j_get(d, 0, "instructions") && j_get(d, 0, "timestamp")) return LOG_CODEX;
    if (j_get(d, 0, "sessionId") || j_get(d, 0, "leafUuid")) return LOG_CLAUDE;
    for (size_t i = 0; i < sizeof claude / sizeof *claude; i++)
        if (str_is(type, claude[i])) return LOG_CLAUDE;
    return LOG_NONE;
}

bool log_begins(const char *line, size_t len) {
    struct jdoc d = {0};
    struct arena a = {0};
    bool is = jdoc_read(&d, line, len) && kind_of_line(&d, &a) != LOG_NONE;
    jdoc_free(&d);
    arena_free(&a);
    return is;
}

static void log_line(struct logs *l, const char *line, size_t len) {
    if (!jdoc_read(&l->doc, line, len)) return; /* a log may end in half a line */
    if (l->kind == LOG_NONE) l->kind = kind_of_line(&l->doc, &l->arena);
    if (l->doc.node[0].kind != J_OBJECT) return;
    if (l->kind == LOG_CLAUDE) claude_line(l);
    if (l->kind == LOG_CODEX) codex_line(l);
}

bool log_read(struct lines *lines, const char *first, size_t len, const char *name, char ***out,
              size_t *count) {
    struct logs l = {.name = name};
    const char *text;
    size_t n, end;
    bool failed = false;
    log_line(&l, first, len);
    while (lines_next(lines, &text, &n, &end, &failed))
        if (!line_blank(text, n)) log_line(&l, text, n);
    end_session(&l);
    *out = l.lines;
    *count = l.nlines;
    buf_free(&l.elements);
    buf_free(&l.when);
    buf_free(&l.billed);
    buf_free(&l.blocks);
    jdoc_free(&l.doc);
    arena_free(&l.arena);
    return !failed;
}
