/* Novelty: a name is kept once in a conversation, and only if nothing that stays has it. A line
 * stays if the new names in it are worth more than it costs; of lines that go, the short names are
 * listed where they stood:
 *
 *     […12: parse_header max_depth src/reader.c]
 *
 * The dial is V, what a name that looks like code is worth in bytes; a plain word is worth half. */
#include "stable/form.h"

#include <string.h>

#include "core/chars.h"
#include "stable/joints.h"
#include "stable/kind_json.h"
#include "stable/reading.h"

#define LEAST_GAIN 64    /* bytes: a form that saves less is not used */
#define LONG_LINE 240    /* bytes: longer lines are cut into pieces ... */
#define PIECE_FROM 80    /* ... of at least so many, if there is a place to cut, */
#define PIECE_TO 160     /* ... and at most so many */
#define READ_BONUS 130   /* percent of V: a line of a file is what an edit will quote ... */
#define OTHER_BONUS 25   /* ... and a line of other output seldom is */
#define GAP_COST 7       /* bytes that a gap costs, about */
#define GAP_SLACK 8      /* bytes more than a gap that may stand in its place: text reads better */
#define FAILURE_BONUS 10 /* of SCALE, a byte: a line that tells of a failure, when capped */
#define BARE_FAILURE 12  /* bytes of a line that says that something failed, and not what */
#define UNIT 500         /* bytes: larger elements of JSON are taken apart */
#define SCALE 50         /* worths are in fiftieths of a byte, so that all is in integers */

/* What an item's number in the set says. */
#define KNOWN UINT32_MAX /* something that stays has it; else: the weighing that met it last */

struct piece { /* a line, or a piece of a long one */
    const char *at;
    uint32_t len;           /* with its newline */
    uint32_t names, nnames; /* its new names that are short enough to be listed */
    uint32_t listed;        /* bytes of these, with a space each */
    uint64_t worth;         /* of all new names */
    uint64_t bonus;         /* for a line that may be wanted verbatim */
    uint32_t tail;          /* bytes that stay when it goes: a comma behind an element of JSON */
    struct joint joint;
    uint8_t kind; /* enum piece_kind */
    bool keep;
};

struct novelty {
    struct readings read;
    size_t cursor; /* in the items of the text that is weighed */
    VEC(struct piece) pieces;
    VEC(struct item) names;
    VEC(char) text;
    struct json_pieces json;
    uint32_t weighings; /* so far */
};

static paucis_err novelty_state(struct forms *f, struct novelty **out) {
    if (!f->state) {
        struct novelty *n = paucis__mem_resize(f->mem, NULL, 0, sizeof *n);
        if (!n) return PAUCIS_E_NOMEM;
        memset(n, 0, sizeof *n);
        paucis__readings_init(&n->read, f->mem, f->seed);
        f->state = n;
    }
    *out = f->state;
    return PAUCIS_OK;
}

static void novelty_clear(struct forms *f) {
    struct novelty *n = f->state;
    paucis__readings_clear(&n->read);
    n->weighings = 0;
}

static void novelty_free(struct forms *f) {
    struct novelty *n = f->state;
    if (!n) return;
    paucis__readings_free(&n->read);
    VEC_FREE(f->mem, n->pieces);
    VEC_FREE(f->mem, n->names);
    VEC_FREE(f->mem, n->text);
    paucis__json_end(&n->json, f->mem);
    paucis__mem_resize(f->mem, n, sizeof *n, 0);
    f->state = NULL;
}

static paucis_err novelty_stays(struct forms *f, struct span text) {
    struct novelty *n;
    PAUCIS_TRY(novelty_state(f, &n));
    return paucis__reading_mark(&n->read, text, KNOWN);
}

static paucis_err novelty_born(struct forms *f, const struct form_text *t) {
    struct novelty *n;
    PAUCIS_TRY(novelty_state(f, &n));
    return t->is_result ? paucis__reading_add(&n->read, t->part, t->text)
                        : paucis__reading_mark(&n->read, t->text, KNOWN);
}

/* ---- weighing ------------------------------------------------------------------------------ */

/* What all pieces of a text are weighed by. */
struct scale {
    uint64_t code, word; /* what names are worth */
    bool list_all;       /* names may be listed whatever they are worth */
    size_t unit;         /* bytes: elements of JSON up to this are not taken apart */
};

/* Is it the output of a program that was run, where a failure is news? In a file it is text. */
static bool is_run(const struct form_text *t) {
    return t->tool == TOOL_RUN || t->tool == TOOL_TEST || t->tool == TOOL_OTHER;
}

static struct piece *add_piece(struct novelty *n, const char *at, size_t len) {
    if (!VEC_ROOM(n->read.mem, n->pieces, 1)) return NULL;
    struct piece *p = &n->pieces.at[n->pieces.count++];
    *p = (struct piece){.at = at, .len = (uint32_t)len};
    return p;
}

/* Finds the new names of a piece, but for `skip` bytes, and what they are worth. */
static paucis_err weigh_names(struct novelty *n, struct piece *p, size_t skip,
                              const struct reading *r, const struct scale *s) {
    if (skip > p->len) skip = p->len; /* a number may be longer than the first piece of its line */
    const char *text = r->text.at, *listed = p->at + skip;
    struct reading_items found;
    size_t end = (size_t)(p->at - text) + p->len;
    PAUCIS_TRY(
        paucis__reading_items(&n->read, r, (size_t)(listed - text), end, &n->cursor, &found));
    if (!VEC_ROOM(n->read.mem, n->names, found.count)) return PAUCIS_E_NOMEM;
    p->names = (uint32_t)n->names.count;
    for (size_t i = 0; i < found.count; i++) {
        uint32_t *value = &n->read.items.values.at[found.at[i].place];
        if (*value == KNOWN || *value == n->weighings) continue;
        *value = n->weighings;
        uint64_t worth = n->read.code.at[found.at[i].place] ? s->code : s->word;
        struct item item = {text + found.at[i].at, found.at[i].len};
        p->worth += worth;
        if (item.at < listed || !paucis__whole_name(text, text + r->text.len, &item)) continue;
        listed = item.at + item.len;
        if (!s->list_all && (item.len + 1) * SCALE > worth) continue;
        n->names.at[n->names.count++] = item;
        p->nnames++;
        p->listed += (uint32_t)item.len + 1;
    }
    return PAUCIS_OK;
}

/* What a line is worth that may be wanted verbatim. */
static uint64_t line_bonus(const struct form_text *t, const struct scale *s) {
    return s->code * (t->tool == TOOL_READ ? READ_BONUS : OTHER_BONUS) / 100;
}

static paucis_err weigh_json(struct novelty *n, const struct form_text *t, const struct reading *r,
                             const struct scale *s) {
    struct json_piece next;
    for (;;) {
        PAUCIS_TRY(paucis__json_piece(&n->json, n->read.mem, &next));
        if (!next.at) return PAUCIS_OK;
        struct piece *p = add_piece(n, next.at, next.len);
        if (!p) return PAUCIS_E_NOMEM;
        p->tail = (uint32_t)next.tail;
        p->kind = (uint8_t)next.kind;
        p->keep = next.kind == PIECE_FIXED;
        PAUCIS_TRY(weigh_names(n, p, 0, r, s));
        if (paucis__reading_is_last(&n->read, span_of(p->at, p->len), t->part))
            p->bonus = line_bonus(t, s);
    }
}

static bool is_gap(char c) { return c == ' ' || c == ',' || c == ';'; }

/* A long line's first piece. */
static size_t piece_len(struct span line) {
    if (line.len <= LONG_LINE) return line.len;
    for (size_t i = PIECE_TO; i > PIECE_FROM; i--)
        if (is_gap(line.at[i - 1])) return i;
    size_t n = PIECE_TO;
    while (n > PIECE_FROM && ((unsigned char)line.at[n] & 0xC0) == 0x80) n--;
    return n;
}

/* One line: a piece, or several if it is long. Only the first has a joint and a number. */
static paucis_err weigh_line(struct novelty *n, const struct form_text *t, const struct reading *r,
                             const struct scale *s, struct span line, const struct reading_line *l,
                             struct joint joint) {
    bool whole = line.len <= LONG_LINE;
    size_t skip = l->number;
    while (line.len) {
        struct piece *p = add_piece(n, line.at, piece_len(line));
        if (!p) return PAUCIS_E_NOMEM;
        p->joint = joint;
        line = span_of(line.at + p->len, line.len - p->len);
        if (joint.worth != JOINT_NOTHING) {
            PAUCIS_TRY(weigh_names(n, p, skip, r, s));
            bool last = whole ? reading_is_last(&n->read, l->place, t->part)
                              : paucis__reading_is_last(&n->read, span_of(p->at, p->len), t->part);
            if (last) p->bonus = line_bonus(t, s);
        }
        joint = (struct joint){0};
        skip = 0;
    }
    return PAUCIS_OK;
}

static paucis_err weigh_lines(struct novelty *n, const struct form_text *t, const struct reading *r,
                              const struct scale *s) {
    struct joints joints = {0};
    const char *text = t->text.at, *end = text + t->text.len;
    for (size_t i = 0; i < r->nlines; i++) {
        const struct reading_line *l = &n->read.begun.at[r->line + i];
        size_t len = (i + 1 < r->nlines ? l[1].at : t->text.len) - l->at;
        struct joint joint = paucis__joint_next(&joints, text + l->at, len, end);
        PAUCIS_TRY(weigh_line(n, t, r, s, span_of(text + l->at, len), l, joint));
    }
    return PAUCIS_OK;
}

static paucis_err weigh(struct novelty *n, const struct form_text *t, const struct scale *s) {
    const struct reading *r;
    bool is_json;
    n->pieces.count = n->names.count = n->cursor = 0;
    n->weighings++;
    PAUCIS_TRY(paucis__reading_of(&n->read, t->part, t->text, &r));
    PAUCIS_TRY(paucis__json_begin(&n->json, n->read.mem, t->text, s->unit, &is_json));
    return is_json ? weigh_json(n, t, r, s) : weigh_lines(n, t, r, s);
}

/* A heading stays if a line that it governs does, and a file's if a name is listed. */
static void keep_headings(struct novelty *n, bool names) {
    size_t heading[JOINT_RANKS] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
    for (size_t i = 0; i < n->pieces.count; i++) {
        struct piece *p = &n->pieces.at[i];
        size_t rank = p->joint.rank, closes = p->joint.closes ? p->joint.closes : JOINT_RANKS;
        for (size_t r = rank ? rank : closes; r < JOINT_RANKS; r++) heading[r] = SIZE_MAX;
        if (rank) heading[rank] = i;
        if (p->joint.worth == JOINT_VERDICT) p->keep = true;
        size_t most = p->keep ? JOINT_RANKS : names && p->listed && !rank ? 2 : 0;
        for (size_t r = 1; r < most; r++)
            if (heading[r] != SIZE_MAX) n->pieces.at[heading[r]].keep = true, heading[r] = SIZE_MAX;
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

static void put(struct novelty *n, const char *at, size_t len) {
    memcpy(n->text.at + n->text.count, at, len);
    n->text.count += len;
}

static void put_number(struct novelty *n, size_t number) {
    n->text.count += paucis__words_number(n->text.at + n->text.count, number);
}

static bool ends_line(const struct piece *p) { return p->at[p->len - 1] == '\n'; }

struct gap {
    size_t lines, bytes, listed;
};

/* The pieces [from, to) as a gap. */
static struct gap gap_of(const struct novelty *n, size_t from, size_t to) {
    struct gap g = {0};
    for (size_t i = from; i < to; i++) {
        const struct piece *p = &n->pieces.at[i];
        bool unit = p->kind == PIECE_ELEMENT || p->kind == PIECE_MEMBER;
        g.lines += unit || ends_line(p) || i + 1 == n->pieces.count;
        g.bytes += p->len;
        for (size_t k = 0; k < p->nnames; k++) {
            size_t len = n->names.at[p->names + k].len;
            g.listed += len ? len + 1 : 0;
        }
    }
    return g;
}

/* What stands for the pieces [from, to): themselves if they are no longer than the gap. */
static void put_gap(struct novelty *n, size_t from, size_t to) {
    struct gap g = gap_of(n, from, to);
    const struct piece *last = &n->pieces.at[to - 1];
    bool names = false;
    if (g.bytes <= GAP_COST + g.listed + GAP_SLACK) {
        put(n, n->pieces.at[from].at, g.bytes);
        return;
    }
    if (last->kind == PIECE_ELEMENT || last->kind == PIECE_MEMBER) put(n, "\"", 1);
    put(n, "[\xE2\x80\xA6", 4);
    put_number(n, g.lines ? g.lines : g.bytes);
    if (!g.lines) put(n, "B", 1);
    for (size_t i = from; i < to && g.listed; i++)
        for (size_t k = 0; k < n->pieces.at[i].nnames; k++) {
            const struct item *name = &n->names.at[n->pieces.at[i].names + k];
            if (!name->len) continue;
            put(n, names ? " " : ": ", names ? 1 : 2);
            put(n, name->at, name->len);
            names = true;
        }
    put(n, "]", 1);
    if (last->kind == PIECE_ELEMENT) put(n, "\"", 1);
    if (last->kind == PIECE_MEMBER) put(n, "\":null", 6);
    put(n, last->at + last->len - last->tail, last->tail);
    if (!last->tail && is_space(last->at[last->len - 1])) put(n, &last->at[last->len - 1], 1);
}

/* The pieces that are kept, and gaps. */
static paucis_err put_all(struct novelty *n, struct span text) {
    n->text.count = 0; /* a gap is longer than what it stands for by a number and some marks */
    if (!VEC_ROOM(n->read.mem, n->text, text.len + 32 * (n->pieces.count + 1)))
        return PAUCIS_E_NOMEM;
    for (size_t i = 0, to; i < n->pieces.count; i = to) {
        to = i + 1;
        if (n->pieces.at[i].keep) {
            put(n, n->pieces.at[i].at, n->pieces.at[i].len);
            continue;
        }
        uint8_t kind = n->pieces.at[i].kind;
        while (to < n->pieces.count && !n->pieces.at[to].keep && n->pieces.at[to].kind == kind)
            to++;
        put_gap(n, i, to);
    }
    return PAUCIS_OK;
}

static paucis_err hand_out(struct forms *f, const struct novelty *n, struct span *out) {
    char *copy = paucis__arena_alloc(f->arena, n->text.count);
    if (!copy) return PAUCIS_E_NOMEM;
    memcpy(copy, n->text.at, n->text.count);
    *out = span_of(copy, n->text.count);
    return PAUCIS_OK;
}

/* Which pieces tell of a failure? Most texts have no word that could; *next is the place of the
 * next that has one, 0 at first. Pieces come in order. */
static bool tells_failure(const struct piece *p, struct span text, size_t *next) {
    size_t from = (size_t)(p->at - text.at), to = from + p->len;
    if (*next <= from) *next = paucis__failure_after(text, from);
    return p->joint.fails || (*next < to && paucis__tells_failure(span_of(p->at, p->len)));
}

/* The last line that tells of a failure says most about what went wrong; "FAIL" alone does not. */
static void keep_last_failure(struct novelty *n, const struct form_text *t) {
    struct piece *last = NULL;
    size_t next = 0;
    for (size_t i = 0; is_run(t) && i < n->pieces.count; i++) {
        struct piece *p = &n->pieces.at[i];
        if (tells_failure(p, t->text, &next) && (!last || p->len > BARE_FAILURE)) last = p;
    }
    if (last) last->keep = true;
}

static paucis_err novelty_brief(struct forms *f, const struct form_text *t, struct span *out) {
    struct novelty *n;
    uint64_t worth = f->keep * SCALE;
    *out = t->text;
    PAUCIS_TRY(novelty_state(f, &n));
    const struct scale scale = {worth, worth / 2, false, UNIT};
    PAUCIS_TRY(weigh(n, t, &scale));
    bool first_stays = t->failed || t->tool == TOOL_EDIT; /* it says how the call ended */
    for (size_t i = 0; i < n->pieces.count; i++) {
        struct piece *p = &n->pieces.at[i];
        uint64_t cost = (uint64_t)(p->len + GAP_COST - p->listed) * SCALE;
        p->keep = p->keep || p->worth + p->bonus >= cost || (first_stays && i == 0);
    }
    keep_last_failure(n, t);
    keep_headings(n, true);
    PAUCIS_TRY(put_all(n, t->text));
    return n->text.count + LEAST_GAIN <= t->text.len ? hand_out(f, n, out) : PAUCIS_OK;
}

/* ---- the cap for new results --------------------------------------------------------------- */

#define RANKS 512

/* Chooses the best by rank until `room` bytes are used: bytes[r] is what rank r would take.
 * Returns the rank that is only partly chosen, *left is what remains for it. */
static size_t choose(const uint64_t bytes[RANKS], uint64_t room, uint64_t *left) {
    size_t r = RANKS - 1;
    for (; r && bytes[r] <= room; r--) room -= bytes[r];
    *left = room;
    return r;
}

static size_t line_rank(const struct piece *p) {
    uint64_t rank = (p->worth + 4 * p->bonus) / (p->len + 9u);
    return rank < RANKS ? (size_t)rank : RANKS - 1;
}

static void choose_lines(struct novelty *n, uint64_t room) {
    uint64_t bytes[RANKS] = {0}, left;
    for (size_t i = 0; i < n->pieces.count; i++)
        if (!n->pieces.at[i].keep) bytes[line_rank(&n->pieces.at[i])] += n->pieces.at[i].len;
    size_t last = choose(bytes, room, &left);
    for (size_t i = 0; i < n->pieces.count; i++) {
        struct piece *p = &n->pieces.at[i];
        size_t rank = line_rank(p);
        if (p->keep || rank < last || (rank == last && p->len > left)) continue;
        p->keep = true;
        if (rank == last) left -= p->len;
    }
}

/* Names in lines that go: the shortest first. Those not chosen get length 0. */
static void choose_names(struct novelty *n, uint64_t room) {
    uint64_t bytes[RANKS] = {0}, left;
    for (size_t i = 0; i < n->pieces.count; i++)
        for (size_t k = 0; n->pieces.at[i].keep && k < n->pieces.at[i].nnames; k++)
            n->names.at[n->pieces.at[i].names + k].len = 0;
    for (size_t i = 0; i < n->names.count; i++)
        bytes[RANKS - 1 - n->names.at[i].len] += n->names.at[i].len + 1;
    size_t last = choose(bytes, room, &left);
    for (size_t i = 0; i < n->names.count; i++) {
        struct item *name = &n->names.at[i];
        size_t rank = RANKS - 1 - name->len;
        bool fits = rank > last || (rank == last && name->len < left);
        if (rank == last && fits) left -= name->len + 1;
        if (!fits) name->len = 0;
    }
}

/* A capped log keeps its failures. */
static void favour_failures(struct novelty *n, const struct form_text *t) {
    size_t next = 0;
    for (size_t i = 0; is_run(t) && i < n->pieces.count; i++) {
        struct piece *p = &n->pieces.at[i];
        if (tells_failure(p, t->text, &next)) p->bonus += (uint64_t)(p->len + 9u) * FAILURE_BONUS;
    }
}

/* What must stay of JSON. */
static uint64_t fixed_bytes(const struct novelty *n) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < n->pieces.count; i++)
        if (n->pieces.at[i].keep) bytes += n->pieces.at[i].len;
    return bytes;
}

static void keep_ends(struct novelty *n, uint64_t head, uint64_t tail) {
    for (size_t i = 0; i < n->pieces.count && n->pieces.at[i].len <= head; i++) {
        head -= n->pieces.at[i].len;
        n->pieces.at[i].keep = true;
    }
    for (size_t i = n->pieces.count; i && n->pieces.at[i - 1].len <= tail; i--) {
        tail -= n->pieces.at[i - 1].len;
        n->pieces.at[i - 1].keep = true;
    }
}

static paucis_err novelty_capped(struct forms *f, const struct form_text *t, size_t cap,
                                 struct span *out) {
    struct novelty *n;
    uint64_t worth = f->keep * SCALE;
    *out = t->text;
    PAUCIS_TRY(novelty_state(f, &n));
    const struct scale scale = {worth, worth, true, cap / 8 > UNIT ? cap / 8 : UNIT};
    PAUCIS_TRY(weigh(n, t, &scale));
    favour_failures(n, t);
    uint64_t fixed = fixed_bytes(n), room = cap * 45 / 100;
    keep_ends(n, cap / 5, cap / 10);
    choose_lines(n, room > fixed ? room - fixed : 0);
    keep_headings(n, false);
    choose_names(n, cap * 3 / 2);
    PAUCIS_TRY(put_all(n, t->text));
    return n->text.count + LEAST_GAIN <= t->text.len ? hand_out(f, n, out) : PAUCIS_OK;
}

const struct form_kind paucis__form_novelty = {
    .name = "novelty",
    .summary = "lines and names that nothing else in the conversation has",
    .legend =
        "[Output is shortened from here on: [\xE2\x80\xA6"
        "7: foo bar] stands for 7 lines (in JSON: "
        "elements) left out, in which foo and bar occur, [\xE2\x80\xA6"
        "90B] for 90 bytes.",
    .born = novelty_born,
    .brief = novelty_brief,
    .stays = novelty_stays,
    .capped = novelty_capped,
    .clear = novelty_clear,
    .free = novelty_free,
};
