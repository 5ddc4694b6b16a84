/* Many bodies, one a line, on several threads, with the output in the order of the input.
 *
 * Lines travel in blocks of about BLOCK bytes through a ring of slots. There is no reader and no
 * writer thread: each of the N threads looks, under one lock, for the most urgent thing to do,
 *
 *     write the oldest block if it is done   (one thread at a time)
 *     shorten the next block that was read   (any number)
 *     read the next block                    (one thread at a time)
 *
 * and does it without the lock. So one thread is a plain loop, N threads are N busy cores, the lock
 * is taken a few times a block, and memory is bounded by the lines in the ring:
 *
 *     written <= taken <= filled <= written + nslots      (counts of blocks)
 */
#include "keep.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BLOCK = 512 * 1024,
    SLOTS_PER_JOB = 2 /* so that one slow block does not stop the others */
};

struct slot {
    struct buf in, out, stats, errors;
    uint64_t first_line;
    uint64_t bodies, bad, missed, unkept;
    bool done;
};

struct batch {
    struct input *in;
    struct output *out, *stats;
    const struct settings *settings;
    struct batch_result *result;
    bool progress;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slot *slots;
    size_t nslots;
    uint64_t filled, taken, written;
    bool reading, writing, eof, failed;

    /* Of the thread that reads. */
    struct buf rest; /* the start of a line whose end was not read yet */
    uint64_t next_line;
    /* Of the thread that writes. */
    struct timespec shown;
};

/* ---- read ----------------------------------------------------------------------------------- */

/* Whole lines into a slot: about a block, or what a pipe has ready. Nothing at the end. */
static bool fill(struct batch *b, struct slot *s) {
    struct buf *in = &s->in, swap = *in;
    *in = b->rest; /* holds no newline */
    b->rest = swap;
    b->rest.len = 0;
    s->first_line = b->next_line;
    size_t whole = 0, got = 0;
    do {
        if (in->cap - in->len < BLOCK / 4 && !buf_reserve(in, BLOCK)) {
            complain("cannot read '%s': out of memory", b->in->name);
            return false;
        }
        size_t room = in->cap - in->len;
        char *p = in->data + in->len, *nl;
        if (!input_read(b->in, p, room, &got)) return false;
        in->len += got;
        while ((nl = memchr(p, '\n', (size_t)(in->data + in->len - p)))) {
            p = nl + 1;
            whole = (size_t)(p - in->data);
            b->next_line++;
        }
        if (whole > 0 && (in->len >= BLOCK || got < room)) break;
    } while (got > 0);
    if (got == 0) whole = in->len;
    buf_add(&b->rest, in->data + whole, in->len - whole);
    in->len = whole;
    if (b->rest.failed) complain("cannot read '%s': out of memory", b->in->name);
    return !b->rest.failed;
}

/* ---- shorten -------------------------------------------------------------------------------- */

struct worker {
    struct batch *batch;
    paucis_ctx *ctx;
    paucis_opts opts;
    struct keep keep;
    struct tally tallies[TALLIES];
};

static void bad_line(struct worker *w, struct slot *s, uint64_t number, const char *line, size_t n,
                     const paucis_error *e) {
    s->bad++;
    buf_fmt(&s->errors, "paucis: '%s' line %" PRIu64 ": ", w->batch->in->name, number);
    error_text(&s->errors, e);
    buf_str(&s->errors, "\n");
    if (w->batch->settings->keep_going) buf_add(&s->out, line, n);
}

/* Into the slot's output, which is grown if a body became longer than it was, which is rare. */
static paucis_err compact(struct worker *w, struct slot *s, const char *line, size_t n,
                          paucis_stats *st, paucis_error *e) {
    struct buf *out = &s->out;
    struct tally before[TALLIES];
    size_t outn = 0;
    if (!buf_reserve(out, n + n / 16 + 4096)) return PAUCIS_E_NOMEM;
    memcpy(before, w->tallies, sizeof before);
    paucis_err err = paucis_compact_into(w->ctx, line, n, &w->opts, out->data + out->len,
                                         out->cap - out->len, &outn, st, e);
    if (err == PAUCIS_E_NOSPACE && buf_reserve(out, outn)) {
        memcpy(w->tallies, before, sizeof before); /* or it would be counted twice */
        err = paucis_compact_into(w->ctx, line, n, &w->opts, out->data + out->len,
                                  out->cap - out->len, &outn, st, e);
    }
    if (err == PAUCIS_OK) out->len += outn;
    return err;
}

/* The same with a store: what goes is kept before the line is written. */
static paucis_err compact_kept(struct worker *w, struct slot *s, uint64_t number, const char *line,
                               size_t n, paucis_stats *st, paucis_error *e) {
    char why[STORE_WHY] = "";
    const char *out = NULL;
    size_t outn = 0;
    paucis_err err = keep_compact(&w->keep, w->ctx, line, n, &w->opts, &out, &outn, st, e, why);
    s->unkept += *why != '\0';
    if (*why && w->keep.store) /* that it could not be opened was said already */
        buf_fmt(&s->errors, "paucis: '%s' line %" PRIu64 ": " KEEP_FAILED "\n", w->batch->in->name,
                number, why);
    if (err == PAUCIS_OK) buf_add(&s->out, out, outn);
    return err;
}

static void one_line(struct worker *w, struct slot *s, uint64_t number, const char *line,
                     size_t n) {
    const struct settings *set = w->batch->settings;
    paucis_stats st = {.size = sizeof st};
    paucis_error e = {PAUCIS_OK, "", 0};
    s->bodies++;
    e.code =
        set->keeps ? compact_kept(w, s, number, line, n, &st, &e) : compact(w, s, line, n, &st, &e);
    if (e.code != PAUCIS_OK) bad_line(w, s, number, line, n, &e);
    s->missed += e.code == PAUCIS_OK && !st.budget_met;
    if (set->stats) stats_json(&s->stats, set, &st, e.code == PAUCIS_OK ? NULL : &e, number);
}

static bool shorten(struct worker *w, struct slot *s) {
    const char *p = s->in.data, *end = p + s->in.len;
    for (uint64_t number = s->first_line; p < end; number++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t whole = nl ? (size_t)(nl - p) + 1 : (size_t)(end - p);
        size_t ending = !nl ? 0 : whole > 1 && nl[-1] == '\r' ? 2 : 1;
        if (line_blank(p, whole - ending))
            buf_add(&s->out, p, whole - ending);
        else
            one_line(w, s, number, p, whole - ending);
        buf_add(&s->out, p + whole - ending, ending);
        p += whole;
    }
    if (s->out.failed || s->stats.failed || s->errors.failed) complain("out of memory");
    return !(s->out.failed || s->stats.failed || s->errors.failed);
}

/* ---- write ---------------------------------------------------------------------------------- */

/* A line now and then, on a terminal only. */
static void show_progress(struct batch *b) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms =
        (int64_t)(now.tv_sec - b->shown.tv_sec) * 1000 + (now.tv_nsec - b->shown.tv_nsec) / 1000000;
    if (ms < 100) return;
    b->shown = now;
    fprintf(stderr, "\r%" PRIu64 " bodies, %" PRIu64 " MB in, %" PRIu64 " MB out\033[K",
            b->result->lines, b->result->bytes_in / 1000000, b->result->bytes_out / 1000000);
}

/* One huge line must not keep its memory for the rest of the run. */
static void recycle(struct buf *b) {
    b->len = 0;
    if (b->cap > (size_t)8 * BLOCK) buf_free(b);
}

static bool write_slot(struct batch *b, struct slot *s) {
    struct batch_result *r = b->result;
    r->lines += s->bodies;
    r->bad += s->bad;
    r->missed += s->missed;
    r->unkept += s->unkept;
    r->bytes_in += s->in.len;
    r->bytes_out += s->out.len;
    if (s->errors.len) {
        if (b->progress) fputs("\r\033[K", stderr);
        fwrite(s->errors.data, 1, s->errors.len, stderr);
    }
    bool ok = output_buf(b->out, &s->out) && (!b->stats || output_buf(b->stats, &s->stats));
    if (b->progress) show_progress(b);
    recycle(&s->in);
    recycle(&s->out);
    recycle(&s->stats);
    recycle(&s->errors);
    s->bodies = s->bad = s->missed = s->unkept = 0;
    return ok;
}

/* ---- threads -------------------------------------------------------------------------------- */

static struct slot *slot_at(struct batch *b, uint64_t count) {
    return &b->slots[count % b->nslots];
}

/* Does the most urgent thing, waiting for one if need be. False when all is done. Called and left
 * with the lock held. */
static bool step(struct worker *w) {
    struct batch *b = w->batch;
    struct slot *s = slot_at(b, b->written);
    bool ok = true;
    if (b->failed || (b->eof && b->written == b->filled)) return false;
    if (!b->writing && b->written < b->taken && s->done) {
        b->writing = true;
        pthread_mutex_unlock(&b->lock);
        ok = write_slot(b, s);
        pthread_mutex_lock(&b->lock);
        b->writing = s->done = false;
        b->written++;
    } else if (b->taken < b->filled) {
        s = slot_at(b, b->taken++);
        pthread_mutex_unlock(&b->lock);
        ok = shorten(w, s);
        pthread_mutex_lock(&b->lock);
        s->done = true;
    } else if (!b->eof && !b->reading && b->filled - b->written < b->nslots) {
        s = slot_at(b, b->filled);
        b->reading = true;
        pthread_mutex_unlock(&b->lock);
        ok = fill(b, s);
        pthread_mutex_lock(&b->lock);
        b->reading = false;
        b->eof = ok && s->in.len == 0;
        b->filled += ok && !b->eof;
    } else {
        pthread_cond_wait(&b->changed, &b->lock);
        return true;
    }
    b->failed = b->failed || !ok;
    pthread_cond_broadcast(&b->changed);
    return true;
}

static void *work(void *arg) {
    struct worker *w = arg;
    struct batch *b = w->batch;
    bool ok = paucis_ctx_new(&w->ctx, NULL) == PAUCIS_OK;
    if (!ok) complain("out of memory");
    pthread_mutex_lock(&b->lock);
    b->failed = b->failed || !ok;
    while (step(w)) continue;
    tally_merge(b->result->tallies, w->tallies);
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    paucis_ctx_free(w->ctx);
    keep_free(&w->keep);
    return NULL;
}

/* The calling thread works too. A thread that cannot be started is done without. */
static void run_all(struct batch *b, struct worker *workers, pthread_t *threads, unsigned jobs) {
    unsigned started = 0;
    for (unsigned i = 0; i < jobs; i++) {
        workers[i].batch = b;
        workers[i].opts = b->settings->opts;
        workers[i].keep = (struct keep){.store = b->settings->store, .conv = b->settings->conv};
        if (b->settings->verbose) {
            workers[i].opts.log = tally_log;
            workers[i].opts.log_ud = workers[i].tallies;
        }
    }
    while (started + 1 < jobs &&
           pthread_create(&threads[started], NULL, work, &workers[started + 1]) == 0)
        started++;
    work(&workers[0]);
    while (started > 0) pthread_join(threads[--started], NULL);
}

bool batch_run(struct input *in, struct output *out, struct output *stats, const struct settings *s,
               unsigned jobs, bool progress, struct batch_result *r) {
    struct batch b = {.in = in,
                      .out = out,
                      .stats = stats,
                      .settings = s,
                      .result = r,
                      .progress = progress,
                      .nslots = jobs == 1 ? 1 : (size_t)jobs * SLOTS_PER_JOB,
                      .next_line = 1};
    struct worker *workers = calloc(jobs, sizeof *workers);
    pthread_t *threads = calloc(jobs, sizeof *threads);
    b.slots = calloc(b.nslots, sizeof *b.slots);
    if (workers && threads && b.slots) {
        pthread_mutex_init(&b.lock, NULL);
        pthread_cond_init(&b.changed, NULL);
        run_all(&b, workers, threads, jobs);
        pthread_cond_destroy(&b.changed);
        pthread_mutex_destroy(&b.lock);
    } else {
        complain("out of memory");
        b.failed = true;
    }
    if (progress) fputs("\r\033[K", stderr);
    for (size_t i = 0; b.slots && i < b.nslots; i++) {
        buf_free(&b.slots[i].in);
        buf_free(&b.slots[i].out);
        buf_free(&b.slots[i].stats);
        buf_free(&b.slots[i].errors);
    }
    buf_free(&b.rest);
    free(b.slots);
    free(threads);
    free(workers);
    return !b.failed;
}
