/* Small neutral conversations for the tests of the classic strategies: built message by message,
 * run through the public library, and looked at part by part.
 *
 *   struct talk t = {0};
 *   says(&t, "user", "hello");
 *   calls(&t, "a", "ls", "{}");
 *   answers(&t, "a", letters(&t, 'x', 300));
 *   run(&t, "dedup", "dedup.min=100 budget=50");
 *   CHECK_STR(now(&t, 2), was(&t, 2));
 *   talk_free(&t);
 */
#ifndef PAUCIS_CLASSIC_SUPPORT_H
#define PAUCIS_CLASSIC_SUPPORT_H

#include <paucis/paucis.h>

#include "unit/support.h"
#include "unit/test.h"

struct talk {
    struct text_buf {
        char *at;
        size_t len, room;
    } body; /* without the closing brackets */
    bool in_message;
    size_t messages;

    paucis_ctx *ctx;
    struct bytes in, out;
    struct opened before, after; /* in and out, read again */
    bool ran;
    paucis_stats stats;
    void **texts; /* what letters and text_at handed out */
    size_t ntexts;
};

void talk_free(struct talk *t);

/* ---- building ------------------------------------------------------------------------------ */

void message(struct talk *t, const char *role); /* begins one; the parts that follow are its own */
void text_part(struct talk *t, const char *text);
void call_part(struct talk *t, const char *id, const char *name, const char *arguments);
void result_part(struct talk *t, const char *id, const char *content);
void thinking_part(struct talk *t, const char *text);
void image_part(struct talk *t);
void raw_part(struct talk *t, const char *json);

/* A message with one part. */
void says(struct talk *t, const char *role, const char *text);
void calls(struct talk *t, const char *id, const char *name, const char *arguments);
void answers(struct talk *t, const char *id, const char *content);

/* So many short messages, of a user and an assistant in turn, beginning with the user. */
void chatter(struct talk *t, size_t messages);

/* `c` n times; lives as long as the talk. */
const char *letters(struct talk *t, char c, size_t n);
/* printf into a text that lives as long as the talk. */
const char *words(struct talk *t, const char *form, ...) __attribute__((format(printf, 2, 3)));

/* ---- running ------------------------------------------------------------------------------- */

/* Runs strategies (comma-joined) with options ("key=value key=value", or NULL). */
void run(struct talk *t, const char *strategies, const char *options);
/* The same on what came out. */
void run_again(struct talk *t, const char *strategies, const char *options);

/* ---- looking ------------------------------------------------------------------------------- */

size_t count_was(const struct talk *t), count_now(const struct talk *t); /* messages */
size_t parts_now(const struct talk *t, size_t message);
const char *role_now(const struct talk *t, size_t message);
/* The text of a message's first part, or of another; "" where there is none. */
const char *was(struct talk *t, size_t message), *now(struct talk *t, size_t message);
const char *now_part(struct talk *t, size_t message, size_t part);
/* The id of its first call or result; "" if it has none. */
const char *id_now(struct talk *t, size_t message);

bool unchanged(const struct talk *t);           /* byte for byte */
bool is_in(const char *text, const char *what); /* what occurs in text */
bool begins(const char *text, const char *what);
/* Every call has a later result and every result an earlier call. */
bool all_paired(const struct talk *t);

#endif
