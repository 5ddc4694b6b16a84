/* Headers: a list of names and values, and the rule which of them end at the next hop. */
#include "proxy.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool name_is(const char *a, const char *b) { return strcasecmp(a, b) == 0; }

void headers_add(struct headers *h, const char *name, size_t nlen, const char *value, size_t vlen) {
    if (h->n == h->cap) {
        size_t cap = h->cap ? h->cap * 2 : 16;
        struct header *at = realloc(h->at, cap * sizeof *at);
        if (!at) {
            h->failed = true;
            return;
        }
        h->at = at;
        h->cap = cap;
    }
    char *p = malloc(nlen + vlen + 2);
    if (!p) {
        h->failed = true;
        return;
    }
    memcpy(p, name, nlen);
    p[nlen] = '\0';
    if (vlen > 0) memcpy(p + nlen + 1, value, vlen);
    p[nlen + 1 + vlen] = '\0';
    h->at[h->n++] = (struct header){p, p + nlen + 1};
}

const char *headers_get(const struct headers *h, const char *name) {
    for (size_t i = 0; i < h->n; i++)
        if (name_is(h->at[i].name, name)) return h->at[i].value;
    return NULL;
}

size_t headers_count(const struct headers *h, const char *name) {
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++) n += name_is(h->at[i].name, name);
    return n;
}

void headers_free(struct headers *h) {
    for (size_t i = 0; i < h->n; i++) free(h->at[i].name);
    free(h->at);
    *h = (struct headers){0};
}

bool list_has(const char *list, const char *word) {
    size_t len = strlen(word);
    while (*list) {
        list += strspn(list, " \t,");
        size_t n = strcspn(list, " \t,;");
        if (n == len && strncasecmp(list, word, n) == 0) return true;
        list += n + strcspn(list + n, ",");
    }
    return false;
}

bool headers_hop(const struct headers *h, const char *name) {
    static const char *const hop[] = {"Connection",          "Keep-Alive", "Proxy-Authenticate",
                                      "Proxy-Authorization", "TE",         "Trailer",
                                      "Transfer-Encoding",   "Upgrade",    "Proxy-Connection"};
    for (size_t i = 0; i < sizeof hop / sizeof *hop; i++)
        if (name_is(name, hop[i])) return true;
    for (size_t i = 0; i < h->n; i++)
        if (name_is(h->at[i].name, "Connection") && list_has(h->at[i].value, name)) return true;
    return false;
}
