/* See noise.h. A line is written piece by piece, a piece being what stands between two carriage
 * returns; when a piece is done, what the line had before it goes if the piece has overwritten all
 * of it. A character counts as one column. */
#include "stable/noise.h"

#include <string.h>

#define ESC '\x1B'
#define BACK '\b'
#define BELL '\a'

bool paucis__has_noise(struct span text) {
    if (!text.len) return false;
    return memchr(text.at, ESC, text.len) || memchr(text.at, '\r', text.len) ||
           memchr(text.at, BACK, text.len);
}

/* ---- escape sequences ---------------------------------------------------------------------- */

enum escape { ESCAPE_OTHER, ESCAPE_QUIET, ESCAPE_ERASE, ESCAPE_ERASE_ALL };

/* ESC [ parameters letter */
static size_t control_len(struct span s, enum escape *what) {
    size_t i = 2;
    while (i < s.len && (unsigned char)s.at[i] >= 0x20 && (unsigned char)s.at[i] < 0x40) i++;
    if (i == s.len || (unsigned char)s.at[i] < 0x40 || (unsigned char)s.at[i] > 0x7E) return 1;
    char last = s.at[i];
    bool bare = i == 2, zero = i == 3 && s.at[2] == '0', two = i == 3 && s.at[2] == '2';
    if (last == 'm' || ((last == 'h' || last == 'l') && s.at[2] == '?'))
        *what = ESCAPE_QUIET;
    else if (last == 'K' && (bare || zero))
        *what = ESCAPE_ERASE;
    else if (last == 'K' && two)
        *what = ESCAPE_ERASE_ALL;
    return i + 1;
}

/* ESC ] 0 ; a window's title, up to a bell or ESC \; as on a terminal, any other ESC breaks it off,
 * so that no byte is looked at for two titles. */
static size_t title_len(struct span s, enum escape *what) {
    if (s.len < 4 || s.at[2] < '0' || s.at[2] > '2' || s.at[3] != ';') return 1;
    for (size_t i = 4; i < s.len && s.at[i] != '\n'; i++) {
        bool string_end = s.at[i] == ESC && i + 1 < s.len && s.at[i + 1] == '\\';
        if (s.at[i] == ESC && !string_end) break;
        if (s.at[i] != BELL && !string_end) continue;
        *what = ESCAPE_QUIET;
        return i + 1 + string_end;
    }
    return 1;
}

/* The length of what begins with the ESC at s, and what it does. */
static size_t escape_len(struct span s, enum escape *what) {
    *what = ESCAPE_OTHER;
    if (s.len < 2) return 1;
    if (s.at[1] == '[') return control_len(s, what);
    if (s.at[1] == ']') return title_len(s, what);
    if (s.at[1] == '=' || s.at[1] == '>') return *what = ESCAPE_QUIET, 2;
    if (s.at[1] == '(' && s.len > 2 && s.at[2] == 'B') return *what = ESCAPE_QUIET, 3;
    return 1;
}

/* ---- lines --------------------------------------------------------------------------------- */

struct line {
    char *from, *piece, *to; /* what is written of it; its last piece; its end */
    size_t columns;          /* of what stands before that piece */
    bool blank;              /* that has nothing but blanks */
    bool tabs;               /* in the first piece: nobody knows how wide it is */
    bool unclear;            /* something that moves the cursor otherwise: what follows stays */
};

static size_t columns(const char *from, const char *to) {
    size_t n = 0;
    for (; from < to; from++) n += ((unsigned char)*from & 0xC0) != 0x80;
    return n;
}

static bool is_control(char c) { return (unsigned char)c < ' ' || c == 0x7F; }

static bool is_blank(const char *from, const char *to) {
    while (from < to && *from == ' ') from++;
    return from == to;
}

/* What stands before the piece goes. */
static void drop_before(struct line *l) {
    if (l->piece == l->from) return;
    memmove(l->from, l->piece, (size_t)(l->to - l->piece));
    l->to -= l->piece - l->from;
    l->piece = l->from;
    l->tabs = false;
}

/* A piece is done: is there still anything to see of what it was written over? */
static void end_piece(struct line *l) {
    size_t n = columns(l->piece, l->to);
    bool gone = n >= l->columns || (l->blank && n);
    if (gone && !l->tabs && !l->unclear) {
        drop_before(l);
        l->columns = n;
    } else if (n > l->columns)
        l->columns = n;
    l->blank = is_blank(l->from, l->to);
    l->piece = l->to;
}

/* A run of backspaces: what stood before is overwritten if as many characters follow. */
static size_t go_back(struct line *l, struct span s) {
    size_t n = 0, follow = 0, i;
    while (n < s.len && s.at[n] == BACK) n++;
    for (i = n; i < s.len && follow < n && !is_control(s.at[i]); i++)
        follow += ((unsigned char)s.at[i] & 0xC0) != 0x80;
    char *to = l->to;
    for (size_t k = 0; k < n && to > l->piece; k++) {
        to--;
        while (to > l->piece && ((unsigned char)*to & 0xC0) == 0x80) to--;
    }
    bool enough = columns(to, l->to) == n;
    if (follow == n && enough && !l->unclear && !l->tabs) {
        l->to = to;
    } else {
        l->unclear = true;
        memcpy(l->to, s.at, n);
        l->to += n;
    }
    return n;
}

static size_t act(struct line *l, struct span s) {
    enum escape what;
    size_t n = escape_len(s, &what);
    bool before_return = n < s.len && s.at[n] == '\r';
    if (what == ESCAPE_QUIET) return n;
    if (what == ESCAPE_ERASE && !l->unclear) return drop_before(l), n;
    if (what == ESCAPE_ERASE_ALL && !l->unclear && (l->to == l->piece || before_return)) {
        l->to = l->piece = l->from;
        l->columns = 0;
        l->tabs = false;
        return n;
    }
    l->unclear = true;
    memcpy(l->to, s.at, n);
    l->to += n;
    return n;
}

/* One line without its end. `returns`: a carriage return is one, see below. */
static char *strip_line(struct span s, char *dst, bool returns) {
    struct line l = {.from = dst, .piece = dst, .to = dst, .blank = true};
    for (size_t i = 0; i < s.len;) {
        char c = s.at[i];
        if (c == ESC) {
            i += act(&l, span_of(s.at + i, s.len - i));
        } else if (c == BACK) {
            i += go_back(&l, span_of(s.at + i, s.len - i));
        } else if (c == '\r' && returns && !l.unclear) {
            while (i < s.len && s.at[i] == '\r') i++;
            if (l.to > l.piece) end_piece(&l);
            if (l.to > l.from) *l.to++ = '\r';
            l.piece = l.to;
        } else {
            if (c == '\t' && l.piece == l.from)
                l.tabs = true;
            else if (is_control(c))
                l.unclear = true;
            *l.to++ = c;
            i++;
        }
    }
    if (l.piece > l.from) end_piece(&l);
    return l.to;
}

size_t paucis__strip_noise(struct span text, char *dst) {
    char *to = dst;
    /* Without a newline the carriage returns may be the line ends. */
    bool returns = text.len && memchr(text.at, '\n', text.len);
    for (const char *at = text.at, *end = at + text.len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        const char *rest = stop;
        while (newline && rest > at && rest[-1] == '\r') rest--;
        to = strip_line(span_of(at, (size_t)(rest - at)), to, returns);
        size_t tail = (size_t)(stop - rest) + (newline != NULL);
        memcpy(to, rest, tail);
        to += tail;
        at = newline ? newline + 1 : end;
    }
    return (size_t)(to - dst);
}
