/* Novelty: a name is kept once in a conversation, and only if nothing that stays has it. A line
 * stays if the new names in it are worth more than it costs; of lines that go, the short names are
 * listed where they stood:
 *
 *     [... 12 lines: parse_header max_depth src/reader.c]
 *
 * The dial is V, what a name that looks like code is worth in bytes; a plain word is worth half. */
#include "stable/form.h"

#include <string.h>

#include "stable/items.h"
#include "stable/joints.h"
#include "stable/kind_json.h"

#define LEAST_GAIN 64    /* bytes: a form that saves less is not used */
#define LONG_LINE 240    /* bytes: longer lines are cut into pieces ... */
#define PIECE_FROM 80    /* ... of at least so many, if there is a place to cut, */
#define PIECE_TO 160     /* ... and at most so many */
#define SAME_LINE 24     /* bytes: shorter lines are not worth repeating verbatim */
#define READ_BONUS 130   /* percent of V: a line of a file is what an edit will quote ... */
#define OTHER_BONUS 25   /* ... and a line of other output seldom is */
#define GAP_COST 7       /* bytes that a gap costs, about */
#define GAP_SLACK 8      /* bytes more than a gap that may stand in its place: text reads better */
#define FAILURE_BONUS 10 /* of SCALE, a byte: a line that tells of a failure, when capped */
#define UNIT 500         /* bytes: larger elements of JSON are taken apart */
#define SCALE 50         /* worths are in fiftieths of a byte, so that all is in integers */

/* What an item's number in the set says. */
#define KNOWN UINT64_MAX /* something that stays has it; else: the weighing that met it last */

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
    struct item_set items;
    struct item_set lines; /* the last part that has the line, plus 1 */
    VEC(struct piece) pieces;
    VEC(struct item) names;
    VEC(char) text;
    struct json_pieces json;
    uint64_t weighings; /* so far */
};

static paucis_err novelty_state(struct forms *f, struct novelty **out) {
    if (!f->state) {
        struct novelty *n = paucis__mem_resize(f->mem, NULL, 0, sizeof *n);
        if (!n) return PAUCIS_E_NOMEM;
        memset(n, 0, sizeof *n);
        n->items.mem = n->lines.mem = f->mem;
        n->items.seed = n->lines.seed = f->seed;
        f->state = n;
    }
    *out = f->state;
    return PAUCIS_OK;
}

static void novelty_free(struct forms *f) {
    struct novelty *n = f->state;
    if (!n) return;
    paucis__items_free(&n->items);
    paucis__items_free(&n->lines);
    VEC_FREE(f->mem, n->pieces);
    VEC_FREE(f->mem, n->names);
    VEC_FREE(f->mem, n->text);
    paucis__json_end(&n->json, f->mem);
    paucis__mem_resize(f->mem, n, sizeof *n, 0);
    f->state = NULL;
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static struct span strip(struct span s) {
    while (s.len && is_space(s.at[s.len - 1])) s.len--;
    while (s.len && is_space(*s.at)) s.at++, s.len--;
    return s;
}

static bool is_path(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || memchr("_./-", c, 4);
}

/* What follows "12:", "12|", "12-", "12.", "12\t" or "12 and an arrow" at the start of s; at ==
 * NULL if it does not start so. */
static struct span behind_number(struct span s) {
    size_t n = 0;
    while (n < s.len && is_digit(s.at[n])) n++;
    size_t left = s.len - n, mark = 0;
    if (n && left >= 3 && !memcmp(s.at + n, "\xE2\x86\x92", 3))
        mark = 3;
    else if (n && left && memchr("\t:|-.", s.at[n], 5))
        mark = 1;
    return mark ? span_of(s.at + n + mark, left - mark) : span_of(NULL, 0);
}

/* A line without blanks around it and without the number, or path and number, that a tool put in
 * front. */
static struct span bare(struct span line) {
    line = strip(line);
    struct span rest = behind_number(line);
    for (size_t i = 1; !rest.at && i < line.len && is_path(line.at[i - 1]); i++)
        if (line.at[i] == ':' || line.at[i] == '-')
            rest = behind_number(span_of(line.at + i + 1, line.len - i - 1));
    return rest.at ? strip(rest) : line;
}

/* The line that begins at `at`, with its newline. */
static struct span line_at(const char *at, const char *end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return span_of(at, (size_t)((newline ? newline + 1 : end) - at));
}

/* A long line's first piece. */
static size_t piece_len(struct span line) {
    if (line.len <= LONG_LINE) return line.len;
    for (size_t i = PIECE_TO; i > PIECE_FROM; i--)
        if (memchr(" ,;", line.at[i - 1], 3)) return i;
    size_t n = PIECE_TO;
    while (n > PIECE_FROM && ((unsigned char)line.at[n] & 0xC0) == 0x80) n--;
    return n;
}

static paucis_err novelty_stays(struct forms *f, struct span text) {
    struct novelty *n;
    struct item item;
    PAUCIS_TRY(novelty_state(f, &n));
    for (const char *at = text.at, *end = at + text.len; paucis__item_next(&at, end, &item);) {
        struct item_slot *slot = paucis__item_add(&n->items, item_hash(item.at, item.len));
        if (!slot) return PAUCIS_E_NOMEM;
        slot->value = KNOWN;
    }
    return PAUCIS_OK;
}

static paucis_err born_result(struct novelty *n, size_t part, struct span text) {
    for (const char *at = text.at, *end = at + text.len; at < end;) {
        struct span line = line_at(at, end), words = bare(line);
        at += line.len;
        if (words.len < SAME_LINE) continue;
        struct item_slot *slot = paucis__item_add(&n->lines, item_hash(words.at, words.len));
        if (!slot) return PAUCIS_E_NOMEM;
        slot->value = part + 1;
    }
    return PAUCIS_OK;
}

static paucis_err novelty_born(struct forms *f, const struct form_text *t) {
    struct novelty *n;
    PAUCIS_TRY(novelty_state(f, &n));
    return t->is_result ? born_result(n, t->part, t->text) : novelty_stays(f, t->text);
}

/* ---- weighing ------------------------------------------------------------------------------ */

/* Finds the new names of a piece, from `from` on, and what they are worth. */
static paucis_err weigh_names(struct novelty *n, struct piece *p, const char *from,
                              struct span text, uint64_t code, uint64_t word, bool list_all) {
    struct item item;
    const char *listed = from;
    p->names = (uint32_t)n->names.count;
    for (const char *at = from, *end = p->at + p->len; paucis__item_next(&at, end, &item);) {
        struct item_slot *slot = paucis__item_add(&n->items, item_hash(item.at, item.len));
        if (!slot || !VEC_ROOM(n->items.mem, n->names, 1)) return PAUCIS_E_NOMEM;
        if (slot->value == KNOWN || slot->value == n->weighings) continue;
        slot->value = n->weighings;
        uint64_t worth = paucis__item_is_code(&item) ? code : word;
        p->worth += worth;
        if (item.at < listed || !paucis__whole_name(text.at, text.at + text.len, &item)) continue;
        listed = item.at + item.len;
        if (!list_all && ((item.len + 1) * SCALE > worth || paucis__is_time(&item))) continue;
        n->names.at[n->names.count++] = item;
        p->nnames++;
        p->listed += (uint32_t)item.len + 1;
    }
    return PAUCIS_OK;
}

static void weigh_line(struct novelty *n, struct piece *p, const struct form_text *t,
                       uint64_t code) {
    struct span words = bare(span_of(p->at, p->len));
    if (words.len < SAME_LINE) return;
    const struct item_slot *slot = paucis__item_find(&n->lines, item_hash(words.at, words.len));
    bool again = slot && slot->value > t->part + 1;
    if (!again) p->bonus = code * (t->tool == TOOL_READ ? READ_BONUS : OTHER_BONUS) / 100;
}

/* Is it the output of a program that was run, where a failure is news? In a file it is text. */
static bool is_run(const struct form_text *t) {
    return t->tool == TOOL_RUN || t->tool == TOOL_TEST || t->tool == TOOL_OTHER;
}

/* What all pieces of a text are weighed by. */
struct scale {
    uint64_t code, word; /* what names are worth */
    bool list_all;       /* names may be listed whatever they are worth */
    size_t unit;         /* bytes: elements of JSON up to this are not taken apart */
};

static paucis_err weigh_json(struct novelty *n, const struct form_text *t, const struct scale *s) {
    struct json_piece next;
    for (;;) {
        PAUCIS_TRY(paucis__json_piece(&n->json, n->items.mem, &next));
        if (!next.at) return PAUCIS_OK;
        if (!VEC_ROOM(n->items.mem, n->pieces, 1)) return PAUCIS_E_NOMEM;
        struct piece *p = &n->pieces.at[n->pieces.count++];
        *p = (struct piece){.at = next.at,
                            .len = (uint32_t)next.len,
                            .tail = (uint32_t)next.tail,
                            .kind = (uint8_t)next.kind,
                            .keep = next.kind == PIECE_FIXED};
        PAUCIS_TRY(weigh_names(n, p, p->at, t->text, s->code, s->word, s->list_all));
        weigh_line(n, p, t, s->code);
    }
}

static paucis_err weigh_lines(struct novelty *n, const struct form_text *t, const struct scale *s) {
    struct span text = t->text;
    struct joints joints = {0};
    struct span line = SPAN(""); /* what is left of it */
    bool starts = true;
    for (const char *at = text.at, *end = at + text.len; at < end;) {
        if (starts) line = line_at(at, end); /* once a line, however many pieces it has */
        if (!VEC_ROOM(n->items.mem, n->pieces, 1)) return PAUCIS_E_NOMEM;
        struct piece *p = &n->pieces.at[n->pieces.count++];
        *p = (struct piece){.at = at, .len = (uint32_t)piece_len(line)};
        if (starts) p->joint = paucis__joint_next(&joints, at, line.len, end);
        if (p->joint.worth != JOINT_NOTHING) {
            const char *from = at + (starts ? paucis__number_len(line) : 0);
            PAUCIS_TRY(weigh_names(n, p, from, text, s->code, s->word, s->list_all));
            weigh_line(n, p, t, s->code);
        }
        at += p->len;
        line = span_of(at, line.len - p->len);
        starts = !line.len;
    }
    return PAUCIS_OK;
}

static paucis_err weigh(struct novelty *n, const struct form_text *t, const struct scale *s) {
    bool is_json;
    n->pieces.count = n->names.count = 0;
    n->weighings++;
    PAUCIS_TRY(paucis__json_begin(&n->json, n->items.mem, t->text, s->unit, &is_json));
    return is_json ? weigh_json(n, t, s) : weigh_lines(n, t, s);
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
    char digits[20];
    size_t len = 0;
    do digits[sizeof digits - ++len] = (char)('0' + number % 10);
    while (number /= 10);
    put(n, digits + sizeof digits - len, len);
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
    if (!VEC_ROOM(n->items.mem, n->text, text.len + 32 * (n->pieces.count + 1)))
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

/* The last line that tells of a failure says most about what went wrong. */
static void keep_last_failure(struct novelty *n, const struct form_text *t) {
    if (!is_run(t)) return;
    for (size_t i = n->pieces.count; i; i--) {
        struct piece *p = &n->pieces.at[i - 1];
        if (!paucis__tells_failure(span_of(p->at, p->len))) continue;
        p->keep = true;
        return;
    }
}

static paucis_err novelty_brief(struct forms *f, const struct form_text *t, struct span *out) {
    struct novelty *n;
    uint64_t worth = f->keep * SCALE;
    *out = t->text;
    PAUCIS_TRY(novelty_state(f, &n));
    const struct scale scale = {worth, worth / 2, false, UNIT};
    PAUCIS_TRY(weigh(n, t, &scale));
    for (size_t i = 0; i < n->pieces.count; i++) {
        struct piece *p = &n->pieces.at[i];
        uint64_t cost = (uint64_t)(p->len + GAP_COST - p->listed) * SCALE;
        p->keep = p->keep || p->worth + p->bonus >= cost || (t->failed && i == 0);
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
    for (size_t i = 0; is_run(t) && i < n->pieces.count; i++) {
        struct piece *p = &n->pieces.at[i];
        if (paucis__tells_failure(span_of(p->at, p->len)))
            p->bonus += (uint64_t)(p->len + 9u) * FAILURE_BONUS;
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
        "7: foo bar] stands for 7 lines left out, in "
        "which foo and bar occur. Run a call again to see all of its output.]\n",
    .born = novelty_born,
    .brief = novelty_brief,
    .stays = novelty_stays,
    .capped = novelty_capped,
    .free = novelty_free,
};
