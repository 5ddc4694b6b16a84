/* See support.h. A talk grows as text; what comes out of the library is read into a view again. */
#include "classic/support.h"

#include <stdarg.h>

#define MAX_KV 8

/* ---- building ------------------------------------------------------------------------------ */

static void put(struct talk *t, const char *s, size_t n) {
    struct text_buf *b = &t->body;
    if (b->room - b->len < n + 1) {
        b->room = 2 * b->room + n + 64;
        b->at = realloc(b->at, b->room);
        if (!b->at) abort();
    }
    memcpy(b->at + b->len, s, n);
    b->len += n;
    b->at[b->len] = 0;
}

static void put_text(struct talk *t, const char *s) { put(t, s, strlen(s)); }

/* "key":"value", the value escaped. */
static void put_member(struct talk *t, const char *key, const char *value) {
    put_text(t, ",\"");
    put_text(t, key);
    put_text(t, "\":\"");
    for (; *value; value++) {
        char escape[8];
        if (*value == '"' || *value == '\\' || (unsigned char)*value < 0x20)
            put(t, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*value));
        else
            put(t, value, 1);
    }
    put_text(t, "\"");
}

static void end_message(struct talk *t) {
    if (t->in_message) put_text(t, "]}");
    t->in_message = false;
}

void message(struct talk *t, const char *role) {
    put_text(t, t->messages ? "" : "{\"messages\":[");
    end_message(t);
    put_text(t, t->messages++ ? ",\n{\"role\":\"" : "\n{\"role\":\"");
    put_text(t, role);
    put_text(t, "\",\"content\":[");
    t->in_message = true;
}

static void part(struct talk *t, const char *type) {
    put_text(t, t->body.at[t->body.len - 1] == '[' ? "{\"type\":\"" : ",{\"type\":\"");
    put_text(t, type);
    put_text(t, "\"");
}

void text_part(struct talk *t, const char *text) {
    part(t, "text");
    put_member(t, "text", text);
    put_text(t, "}");
}

void call_part(struct talk *t, const char *id, const char *name, const char *arguments) {
    part(t, "tool_call");
    put_member(t, "id", id);
    put_member(t, "name", name);
    put_member(t, "arguments", arguments);
    put_text(t, "}");
}

void result_part(struct talk *t, const char *id, const char *content) {
    part(t, "tool_result");
    put_member(t, "tool_call_id", id);
    put_member(t, "content", content);
    put_text(t, "}");
}

void thinking_part(struct talk *t, const char *text) {
    part(t, "thinking");
    put_member(t, "text", text);
    put_text(t, "}");
}

void image_part(struct talk *t) {
    part(t, "image");
    put_member(t, "url", "http://host/picture.png");
    put_text(t, "}");
}

void raw_part(struct talk *t, const char *json) {
    put_text(t, t->body.at[t->body.len - 1] == '[' ? "" : ",");
    put_text(t, json);
}

void says(struct talk *t, const char *role, const char *text) {
    message(t, role);
    text_part(t, text);
}

void calls(struct talk *t, const char *id, const char *name, const char *arguments) {
    message(t, "assistant");
    call_part(t, id, name, arguments);
}

void answers(struct talk *t, const char *id, const char *content) {
    message(t, "tool");
    result_part(t, id, content);
}

void chatter(struct talk *t, size_t messages) {
    for (size_t i = 0; i < messages; i++)
        says(t, i % 2 ? "assistant" : "user", i % 2 ? "yes" : "go on");
}

static char *keep_text(struct talk *t, size_t n) {
    t->texts = realloc(t->texts, (t->ntexts + 1) * sizeof *t->texts);
    if (!t->texts) abort();
    char *text = must_malloc(n + 1);
    text[n] = 0;
    t->texts[t->ntexts++] = text;
    return text;
}

const char *letters(struct talk *t, char c, size_t n) { return memset(keep_text(t, n), c, n); }

const char *words(struct talk *t, const char *form, ...) {
    va_list args;
    va_start(args, form);
    int n = vsnprintf(NULL, 0, form, args);
    va_end(args);
    char *text = keep_text(t, (size_t)n);
    va_start(args, form);
    (void)vsnprintf(text, (size_t)n + 1, form, args);
    va_end(args);
    return text;
}

/* ---- running ------------------------------------------------------------------------------- */

static void forget_outcome(struct talk *t) {
    if (!t->ran) return;
    opened_free(&t->before);
    opened_free(&t->after);
    bytes_free(&t->in);
    bytes_free(&t->out);
    t->ran = false;
}

void talk_free(struct talk *t) {
    forget_outcome(t);
    paucis_ctx_free(t->ctx);
    free(t->body.at);
    for (size_t i = 0; i < t->ntexts; i++) free(t->texts[i]);
    free(t->texts);
}

/* "budget" is a member of its own, the others go by name. */
static void read_options(char *text, paucis_opts *o, paucis_kv kv[MAX_KV]) {
    o->kv = kv;
    while (*text) {
        char *end = text + strcspn(text, " "), *value = strchr(text, '=');
        if (!value || o->nkv == MAX_KV) abort();
        char *next = *end ? end + 1 : end;
        *value++ = *end = 0;
        if (strcmp(text, "budget") == 0)
            o->budget_tokens = strtoull(value, NULL, 10);
        else
            kv[o->nkv++] = (paucis_kv){text, value};
        text = next;
    }
}

static void run_on(struct talk *t, struct bytes in, const char *strategies, const char *options) {
    paucis_kv kv[MAX_KV];
    paucis_opts o;
    paucis_error e = {0};
    const char *out;
    size_t outn;
    struct bytes copy = bytes_copy(options ? options : "", options ? strlen(options) + 1 : 1);
    paucis_opts_init(&o, sizeof o);
    o.format = "neutral";
    o.strategies = strategies;
    read_options(copy.at, &o, kv);
    t->stats = (paucis_stats){.size = sizeof t->stats};
    if (!t->ctx && paucis_ctx_new(&t->ctx, NULL)) abort();
    if (!CHECK_EQ(paucis_compact(t->ctx, in.at, in.len, &o, &out, &outn, &t->stats, &e),
                  PAUCIS_OK)) {
        printf("  %s: %s\n", strategies, e.msg);
        abort();
    }
    struct bytes result = bytes_copy(out, outn);
    forget_outcome(t);
    t->in = in;
    t->out = result;
    t->ran = true;
    CHECK_EQ(opened_read(&t->before, t->in.at, t->in.len, "neutral"), PAUCIS_OK);
    CHECK_EQ(opened_read(&t->after, t->out.at, t->out.len, "neutral"), PAUCIS_OK);
    bytes_free(&copy);
}

void run(struct talk *t, const char *strategies, const char *options) {
    struct text_buf open = t->body; /* closed in a copy: the talk may go on */
    static const char *const ends[] = {"]}", "]}]}"};
    struct bytes in = {must_malloc(open.len + 4), open.len};
    memcpy(in.at, open.at, open.len);
    memcpy(in.at + in.len, ends[t->in_message], strlen(ends[t->in_message]));
    in.len += strlen(ends[t->in_message]);
    run_on(t, in, strategies, options);
}

void run_again(struct talk *t, const char *strategies, const char *options) {
    run_on(t, bytes_copy(t->out.at, t->out.len), strategies, options);
}

/* ---- looking ------------------------------------------------------------------------------- */

size_t count_was(const struct talk *t) { return t->before.view.order.count; }
size_t count_now(const struct talk *t) { return t->after.view.order.count; }

/* A message, or NULL past the end: then the case has failed, and looks at nothing. */
static const struct message *message_at(const struct opened *o, size_t i) {
    return CHECK(i < o->view.order.count) ? view_message(&o->view, o->view.order.at[i]) : NULL;
}

size_t parts_now(const struct talk *t, size_t i) {
    const struct message *m = message_at(&t->after, i);
    return m ? m->nparts : 0;
}

const char *role_now(const struct talk *t, size_t i) {
    const struct message *m = message_at(&t->after, i);
    return m ? paucis__role_name(m->role) : "";
}

static const char *kept(struct talk *t, struct span s) {
    char *text = keep_text(t, s.len);
    if (s.len) memcpy(text, s.at, s.len);
    return text;
}

static const char *part_text(struct talk *t, struct opened *o, size_t i, size_t k) {
    const struct message *m = message_at(o, i);
    struct span s;
    if (!m || k >= m->nparts || paucis__view_text(&o->view, m->part + k, &s)) return "";
    return kept(t, s);
}

const char *was(struct talk *t, size_t i) { return part_text(t, &t->before, i, 0); }
const char *now(struct talk *t, size_t i) { return part_text(t, &t->after, i, 0); }
const char *now_part(struct talk *t, size_t i, size_t k) { return part_text(t, &t->after, i, k); }

const char *id_now(struct talk *t, size_t i) {
    const struct message *m = message_at(&t->after, i);
    for (size_t k = 0; m && k < m->nparts; k++) {
        const struct part *p = view_part(&t->after.view, m->part + k);
        if (p->kind == PART_CALL || p->kind == PART_RESULT)
            return kept(t, paucis__view_string(&t->after.view, p->id));
    }
    return "";
}

bool unchanged(const struct talk *t) {
    return t->in.len == t->out.len && memcmp(t->in.at, t->out.at, t->in.len) == 0 &&
           !t->stats.edits && t->stats.first_changed_byte == PAUCIS_NO_BYTE;
}

bool is_in(const char *text, const char *what) { return strstr(text, what) != NULL; }
bool begins(const char *text, const char *what) { return strncmp(text, what, strlen(what)) == 0; }

bool all_paired(const struct talk *t) {
    const struct view *v = &t->after.view;
    for (size_t i = 0; i < v->parts.count; i++) {
        const struct part *p = view_part(v, i);
        if ((p->kind == PART_CALL || p->kind == PART_RESULT) && p->mate == NO_INDEX) return false;
    }
    return true;
}
