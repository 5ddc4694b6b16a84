/* The table of policies and the words that choose from it. */
#include "replay/families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct family *const families[] = {
#define FAMILY(name) &family_##name,
#include "replay/families.def"
#undef FAMILY
    NULL};

/* Good until the next call. */
const paucis_info *family_row(size_t i) {
    static char text[400], name[64];
    static paucis_info row;
    const struct family *f = families[i];
    if (!f) return NULL;
    size_t n = (size_t)snprintf(name, sizeof name, "%s", f->name);
    for (size_t k = 0; k < f->nparams && n < sizeof name; k++)
        n += (size_t)snprintf(name + n, sizeof name - n, ":%ld", f->standard[k]);
    snprintf(text, sizeof text, "%s (%s)", f->summary, f->source);
    row = (paucis_info){.name = name, .summary = text, .detail = f->params};
    return &row;
}

/* A word with a plus is a family at its defaults and at every setting of its grid. */
static const struct {
    const char *name, *words;
} groups[] = {
    {"default", "none classic stable:safe stable stable:deep +stable peers"},
    {"peers", "+trim +clear +sticky +mask +polling +prune +gemini +gajae +stair"},
    {"curve", "none stable:safe stable stable:deep " OUR_DIAL},
    {"lab",
     "none classic dedup classic:snippet classic:streaming budget:32000 trim:32000 "
     "clear:30000:3 clear:100000:3 sticky:40000:3 sticky:50000:3 polling:10:25 mask:10 "
     "prune:40000:20000 prune:10000:5000 rent:256 rent:1024"},
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
    if (p.nkv && !ours_fit(&p)) return free(p.words), false;
    *PUSH(*list, *count, *cap) = p;
    return true;
}

/* A family at its defaults, then every setting of its grid. */
static bool add_grid(struct policy **list, size_t *count, size_t *cap, const char *name, size_t n) {
    const struct family *f = find_family(name, n);
    if (!f || !add_policy(list, count, cap, name, n, false)) return false;
    for (const char *p = f->grid ? f->grid : ""; *p;) {
        size_t len = strcspn(p, " ");
        if (!add_policy(list, count, cap, p, len, true)) return false;
        p += len + strspn(p + len, " ");
    }
    return true;
}

static const char *find_group(const char *word, size_t n) {
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strlen(groups[i].name) == n && memcmp(groups[i].name, word, n) == 0)
            return groups[i].words;
    return NULL;
}

/* Groups may name groups, two deep. */
static bool add_words(struct policy **list, size_t *count, size_t *cap, const char *words,
                      int depth) {
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, ", ");
        const char *group = depth < 2 ? find_group(p, n) : NULL;
        bool ok = true;
        if (group)
            ok = add_words(list, count, cap, group, depth + 1);
        else if (n && *p == '+')
            ok = add_grid(list, count, cap, p + 1, n - 1);
        else if (n)
            ok = add_policy(list, count, cap, p, n, false);
        if (!ok) return false;
        p += n + (p[n] != '\0');
    }
    return true;
}

bool policies_add(struct policy **list, size_t *count, size_t *cap, const char *words) {
    return add_words(list, count, cap, words, 0);
}

void policies_free(struct policy *list, size_t count) {
    for (size_t i = 0; i < count; i++) free(list[i].words);
    free(list);
}
