/* paucis store: what is kept, is it sound, and away with it. */
#include "keep.h"

#ifdef PAUCIS_STORE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct job {
    const struct args *args;
    struct store *store;
    const char *conv;
    struct buf out;
    uint64_t seen, wrong;
    enum store_err err;
};

/* ---- a row in words ------------------------------------------------------------------------- */

static const char *kind_name(unsigned kind) {
    return kind & KEPT_TEXT ? "text" : kind & KEPT_PIECE ? "piece" : "list";
}

static void when(int64_t at, char out[24]) {
    time_t t = (time_t)at;
    struct tm tm;
    if (!gmtime_r(&t, &tm) || !strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &tm)) out[0] = '\0';
}

static void row_json(struct buf *b, const struct store_row *row) {
    char hex[HASH_DIGITS + 1], used[24];
    hash_hex(&row->hash, hex);
    when(row->used, used);
    buf_fmt(b, "{\"handle\":\"%.*s\",\"hash\":\"%s\",\"kind\":\"%s\"", HANDLE_DIGITS, hex, hex,
            kind_name(row->kind));
    buf_fmt(b, ",\"bytes\":%" PRIu64 ",\"stored\":%" PRIu64 ",\"used\":\"%s\",\"recalls\":%" PRIu64,
            row->size, row->stored, used, row->recalls);
    buf_fmt(b, ",\"evicted\":%s", row->stored ? "false" : "true");
}

/* ---- actions -------------------------------------------------------------------------------- */

static bool list_row(void *ud, const struct store_row *row) {
    struct job *j = ud;
    char hex[HASH_DIGITS + 1], used[24];
    if (j->args->count[FLAG_JSON]) {
        row_json(&j->out, row);
        buf_str(&j->out, "}\n");
    } else if (row->kind & KEPT_TEXT) {
        hash_hex(&row->hash, hex);
        when(row->used, used);
        buf_fmt(&j->out, "%.*s  %s  %10" PRIu64 " bytes%s\n", HANDLE_DIGITS, hex, used, row->size,
                row->stored ? "" : "  evicted");
    }
    return true;
}

static enum store_err do_list(struct job *j) {
    return store_each(j->store, j->conv, 0, list_row, j);
}

static bool conv_row(void *ud, const struct store_conv *c) {
    struct job *j = ud;
    char used[24];
    when(c->used, used);
    if (j->args->count[FLAG_JSON]) {
        buf_str(&j->out, j->seen++ ? ",{\"id\":" : "{\"id\":");
        json_cstr(&j->out, c->id);
        buf_fmt(&j->out, ",\"texts\":%" PRIu64 ",\"used\":\"%s\"}", c->texts, used);
    } else {
        buf_fmt(&j->out, "conversation   %-16s  %s  %" PRIu64 " texts\n", c->id, used, c->texts);
    }
    return true;
}

static enum store_err do_stats(struct job *j) {
    struct store_sums s;
    enum store_err err = store_sums(j->store, &s);
    if (err) return err;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"texts", s.texts},     {"pieces", s.pieces}, {"lists", s.lists},
                {"bytes", s.bytes},     {"stored", s.stored}, {"evicted", s.evicted},
                {"recalls", s.recalls}, {"notes", s.notes},   {"conversations", s.conversations}};
    bool json = j->args->count[FLAG_JSON] > 0;
    if (json) buf_str(&j->out, "{\"schema\":1");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (json)
            buf_fmt(&j->out, ",\"%s\":%" PRIu64, rows[i].name, rows[i].value);
        else
            buf_fmt(&j->out, "%-14s %" PRIu64 "\n", rows[i].name, rows[i].value);
    }
    if (json) buf_str(&j->out, ",\"by_conversation\":[");
    err = store_convs(j->store, conv_row, j);
    if (json) buf_str(&j->out, "]}\n");
    return err;
}

static bool verify_row(void *ud, const struct store_row *row) {
    struct job *j = ud;
    struct buf text = {0};
    char hex[HASH_DIGITS + 1];
    if (!row->stored) return true;
    enum store_err err = store_get(j->store, &row->hash, &text);
    if (!err && text.len != row->size) err = STORE_DAMAGED;
    buf_free(&text);
    j->seen++;
    if (err == STORE_FAILED) j->err = err;
    if (err == STORE_ABSENT || err == STORE_EVICTED) return true; /* went meanwhile */
    hash_hex(&row->hash, hex);
    if (err) j->wrong++;
    if (err) buf_fmt(&j->out, "%s %s: %s\n", kind_name(row->kind), hex, store_err_text(err));
    return !j->err;
}

static enum store_err do_verify(struct job *j) {
    enum store_err err = store_each(j->store, j->conv, 0, verify_row, j);
    buf_fmt(&j->out, "%" PRIu64 " read, %" PRIu64 " damaged\n", j->seen, j->wrong);
    return err ? err : j->err;
}

static bool export_row(void *ud, const struct store_row *row) {
    struct job *j = ud;
    struct buf text = {0};
    if (!(row->kind & KEPT_TEXT)) return true;
    enum store_err err = row->stored ? store_get(j->store, &row->hash, &text) : STORE_EVICTED;
    if (err == STORE_FAILED) j->err = err;
    row_json(&j->out, row);
    buf_str(&j->out, ",\"text\":");
    json_str(&j->out, err ? NULL : text.data ? text.data : "", text.len);
    if (err == STORE_DAMAGED) {
        buf_str(&j->out, ",\"damaged\":true");
        j->wrong++;
    }
    buf_str(&j->out, "}\n");
    buf_free(&text);
    return !j->err;
}

static enum store_err do_export(struct job *j) {
    enum store_err err = store_each(j->store, j->conv, 0, export_row, j);
    return err ? err : j->err;
}

static enum store_err do_purge(struct job *j) {
    uint64_t count = 0;
    enum store_err err = store_purge(j->store, j->conv, &count);
    buf_fmt(&j->out, "%" PRIu64 " texts purged\n", count);
    return err;
}

/* In the order of WORDS_STORE. */
static enum store_err (*const actions[])(struct job *) = {do_list, do_stats, do_verify, do_purge,
                                                          do_export};

static int act(struct job *j, size_t which) {
    char why[STORE_WHY] = "out of memory";
    enum store_err err = actions[which](j);
    if (err) {
        if (err == STORE_FAILED) store_why(j->store, why);
        complain("the store failed: %s", err == STORE_FAILED ? why : store_err_text(err));
        return EXIT_STORE;
    }
    int code = output_text(j->args, &j->out);
    return code ? code : j->wrong ? EXIT_INPUT : EXIT_DONE;
}

int cmd_store(const struct args *a) {
    struct job j = {.args = a, .conv = a->value[FLAG_CONVERSATION]};
    const char *word = a->noperands ? a->operands[0] : NULL, *name;
    if (a->noperands != 1) return usage_error("store takes one action: list, stats, ...");
    if (!known_word(WORDS_STORE, "action", word)) return EXIT_USAGE;
    size_t which = 0;
    while ((name = words_at(WORDS_STORE, which)) && strcmp(name, word) != 0) which++;
    if (actions[which] == do_purge && !j.conv)
        return usage_error("purge needs --conversation; 'paucis store stats' lists them");
    int code = keep_open(a, false, true, &j.store);
    if (code) return code;
    if (!j.store) return usage_error("the store is 'none'");
    code = act(&j, which);
    buf_free(&j.out);
    store_close(j.store);
    return code;
}
#endif
