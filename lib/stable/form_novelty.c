/* Novelty: a name is kept once in a conversation, and only if nothing that stays has it. A line
 * stays if the new names in it are worth more than it costs; of lines that go, the short names are
 * listed where they stood:
 *
 *     [... 12 lines: parse_header max_depth src/reader.c]
 *
 * The dial is V, what a name that looks like code is worth in bytes; a plain word is worth half. */
#include "stable/form.h"

#include <string.h>

#include "stable/reading.h"

#define LEAST_GAIN 64  /* bytes: a form that saves less is not used */
#define READ_BONUS 90  /* percent of V: a line of a file is what an edit will quote ... */
#define OTHER_BONUS 25 /* ... and a line of other output seldom is */
#define GAP_COST 7     /* bytes that a gap costs, about */
#define SCALE 50       /* worths are in fiftieths of a byte, so that all is in integers */

/* What an item's number in the set says. */
#define KNOWN UINT64_MAX /* something that stays has it; else: the weighing that met it last */

struct piece { /* a line, or a piece of a long one */
    const char *at;
    uint32_t len;           /* with its newline */
    uint32_t names, nnames; /* its new names that are short enough to be listed */
    uint32_t listed;        /* bytes of these, with a space each */
    uint64_t worth;         /* of all new names */
    uint64_t bonus;         /* for a line that may be wanted verbatim */
    bool keep;
};

struct novelty {
    struct readings read;
    VEC(struct piece) pieces; /* of the text that is weighed */
    VEC(struct reading_name) names;
    VEC(char) text;
    uint64_t weighings; /* so far */
};

static paucis_err novelty_state(struct forms *f, struct novelty **out) {
    if (!f->state) {
        struct novelty *n = paucis__mem_resize(f->mem, NULL, 0, sizeof *n);
        if (!n) return PAUCIS_E_NOMEM;
        memset(n, 0, sizeof *n);
        n->read.mem = n->read.items.mem = n->read.lines.mem = n->read.text.mem = f->mem;
        n->read.items.seed = n->read.lines.seed = f->seed;
        f->state = n;
    }
    *out = f->state;
    return PAUCIS_OK;
}

static void novelty_clear(struct forms *f) {
    struct novelty *n = f->state;
    if (!n) return;
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

/* Finds the new names of a piece and what they are worth. `names` has room for all. */
static void weigh_names(struct novelty *n, struct piece *p, const struct reading_piece *r,
                        uint64_t code, uint64_t word, bool list_all) {
    const uint32_t *found = n->read.found.at + r->items;
    p->names = (uint32_t)n->names.count;
    for (size_t i = 0; i < r->nitems; i++) {
        struct item_entry *item = &n->read.items.entries.at[found[i]];
        if (item->value == KNOWN || item->value == n->weighings) continue;
        item->value = n->weighings;
        const struct reading_name *name = &n->read.names.at[found[i]];
        uint64_t worth = name->is_code ? code : word;
        p->worth += worth;
        if ((name->len + (uint64_t)1) * SCALE > worth && !list_all) continue;
        n->names.at[n->names.count++] = *name;
        p->nnames++;
        p->listed += name->len + 1;
    }
}

/* Is there a later result with this line? */
static bool comes_again(const struct novelty *n, const struct reading_piece *r, size_t part) {
    return n->read.lines.entries.at[r->line].value > part + 1;
}

static paucis_err weigh(struct novelty *n, const struct form_text *t, uint64_t code, uint64_t word,
                        bool list_all) {
    size_t count;
    const struct reading_piece *r = paucis__reading_of(&n->read, t->part, &count);
    uint64_t bonus = code * (t->tool == TOOL_READ ? READ_BONUS : OTHER_BONUS) / 100;
    n->pieces.count = n->names.count = 0;
    n->weighings++;
    if (!VEC_ROOM(n->read.mem, n->pieces, count)) return PAUCIS_E_NOMEM;
    for (size_t i = 0; i < count; i++, r++) {
        if (!VEC_ROOM(n->read.mem, n->names, r->nitems)) return PAUCIS_E_NOMEM;
        struct piece *p = &n->pieces.at[n->pieces.count++];
        *p = (struct piece){.at = t->text.at + r->at, .len = r->len};
        weigh_names(n, p, r, code, word, list_all);
        if (r->line != NO_LINE && !comes_again(n, r, t->part)) p->bonus = bonus;
    }
    return PAUCIS_OK;
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

/* What stands for the pieces [from, to). */
static void put_gap(struct novelty *n, size_t from, size_t to) {
    size_t lines = 0, bytes = 0;
    bool names = false;
    for (size_t i = from; i < to; i++) {
        lines += ends_line(&n->pieces.at[i]) || i + 1 == n->pieces.count;
        bytes += n->pieces.at[i].len;
    }
    put(n, "[\xE2\x80\xA6", 4);
    put_number(n, lines ? lines : bytes);
    if (!lines) put(n, "B", 1);
    for (size_t i = from; i < to; i++)
        for (size_t k = 0; k < n->pieces.at[i].nnames; k++) {
            const struct reading_name *name = &n->names.at[n->pieces.at[i].names + k];
            if (!name->len) continue;
            put(n, names ? " " : ": ", names ? 1 : 2);
            put(n, name->at, name->len);
            names = true;
        }
    put(n, "]", 1);
    if (ends_line(&n->pieces.at[to - 1])) put(n, "\n", 1);
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
        while (to < n->pieces.count && !n->pieces.at[to].keep) to++;
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

static paucis_err novelty_brief(struct forms *f, const struct form_text *t, struct span *out) {
    struct novelty *n;
    uint64_t worth = f->keep * SCALE;
    *out = t->text;
    PAUCIS_TRY(novelty_state(f, &n));
    PAUCIS_TRY(weigh(n, t, worth, worth / 2, false));
    for (size_t i = 0; i < n->pieces.count; i++) {
        struct piece *p = &n->pieces.at[i];
        uint64_t cost = (uint64_t)(p->len + GAP_COST - p->listed) * SCALE;
        p->keep = p->worth + p->bonus >= cost || (t->failed && i == 0);
    }
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
        struct reading_name *name = &n->names.at[i];
        size_t rank = RANKS - 1 - name->len;
        bool fits = rank > last || (rank == last && name->len < left);
        if (rank == last && fits) left -= name->len + 1;
        if (!fits) name->len = 0;
    }
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
    PAUCIS_TRY(weigh(n, t, worth, worth, true));
    keep_ends(n, cap / 5, cap / 10);
    choose_lines(n, cap * 45 / 100);
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
    .clear = novelty_clear,
    .free = novelty_free,
};
