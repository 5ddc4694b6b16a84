/* The table of policies and the words that choose from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/families.h"

const struct family *const families[] = {
#define FAMILY(name) &family_##name,
#include "replay/families.def"
#undef FAMILY
    NULL};

static const struct {
    const char *name, *words;
} groups[] = {
    {"default", "none classic stable:safe stable stable:deep peers"},
    {"peers", "clear sticky mask polling prune gemini stair trim"},
    {"lab",
     "none classic dedup classic:snippet classic:streaming budget:32000 trim:32000 "
     "clear:30000:3 clear:100000:3 sticky:40000:3 sticky:50000:3 polling:10:25 mask:10 "
     "prune:40000:20000 prune:10000:5000 rent:256 rent:1024"},
    {"curve",
     "none stable:keep=0 stable:keep=10 stable:keep=20 stable:keep=30 stable:keep=40 "
     "stable:keep=50 stable:keep=60 stable:keep=70 stable:keep=80 stable:keep=90 "
     "stable:keep=100"},
    {"grid", NULL}, /* every family at its defaults and its grid */
};

static const struct family *find_family(const char *name, size_t n) {
    struct nearest near = {name, NULL, 0};
    for (size_t i = 0; families[i]; i++) {
        if (strlen(families[i]->name) == n && memcmp(families[i]->name, name, n) == 0)
            return families[i];
        nearest_try(&near, families[i]->name);
    }
    if (near.best)
        usage_error("unknown policy '%.*s'; did you mean '%s'?", (int)n, name, near.best);
    else
        usage_error("unknown policy '%.*s'", (int)n, name);
    return NULL;
}

/* NAME or NAME:SETTING:SETTING. Settings are numbers in the family's order, or for ours a level or
 * KEY=VALUE. */
static bool add_policy(struct policy **list, size_t *count, size_t *cap, const char *word, size_t n,
                       bool grid) {
    struct policy p = {.grid = grid};
    size_t head = 0, param = 0;
    while (head < n && word[head] != ':') head++;
    if (n >= sizeof p.name) return usage_error("policy '%.*s' is too long", (int)n, word), false;
    if (!(p.family = find_family(word, head))) return false;
    snprintf(p.name, sizeof p.name, "%.*s", (int)n, word);
    memcpy(p.param, p.family->standard, sizeof p.param);
    p.words = heap_get(sizeof p.name);
    memcpy(p.words, p.name, sizeof p.name);
    for (char *s = p.words + head; *s == ':';) {
        *s++ = '\0';
        char *end = s + strcspn(s, ":"), *rest = NULL;
        bool last = *end == '\0';
        *end = '\0';
        if (!p.family->word || !p.family->word(&p, s)) {
            long v = strtol(s, &rest, 10);
            if (!*s || *rest || v < 0 || param == MAX_PARAMS || param >= p.family->nparams)
                return usage_error("policy '%s' takes no '%s'", p.name, s), free(p.words), false;
            p.param[param++] = v;
        }
        s = end;
        if (!last) *s = ':'; /* the next round ends this word for good */
    }
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*list)[i].name, p.name) == 0) return free(p.words), true;
    *PUSH(*list, *count, *cap) = p;
    return true;
}

static bool add_grid(struct policy **list, size_t *count, size_t *cap, const struct family *f) {
    const char *p = f->grid ? f->grid : "";
    while (*p) {
        size_t n = strcspn(p, " ");
        if (!add_policy(list, count, cap, p, n, true)) return false;
        p += n + strspn(p + n, " ");
    }
    return true;
}

static bool add_word(struct policy **list, size_t *count, size_t *cap, const char *word, size_t n);

static bool add_words(struct policy **list, size_t *count, size_t *cap, const char *words) {
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, ", ");
        if (n && !add_word(list, count, cap, p, n)) return false;
        p += n + (p[n] != '\0');
    }
    return true;
}

/* Groups name policies and other groups, never themselves. */
static bool add_word(struct policy **list, size_t *count, size_t *cap, const char *word, size_t n) {
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (strlen(groups[i].name) != n || memcmp(groups[i].name, word, n) != 0) continue;
        if (groups[i].words) return add_words(list, count, cap, groups[i].words);
        for (size_t k = 0; families[k]; k++)
            if (!add_policy(list, count, cap, families[k]->name, strlen(families[k]->name),
                            false) ||
                !add_grid(list, count, cap, families[k]))
                return false;
        return true;
    }
    return add_policy(list, count, cap, word, n, false);
}

bool policies_add(struct policy **list, size_t *count, size_t *cap, const char *words) {
    return add_words(list, count, cap, words);
}

void policies_free(struct policy *list, size_t count) {
    for (size_t i = 0; i < count; i++) free(list[i].words);
    free(list);
}
