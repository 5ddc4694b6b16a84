/* Which provider a request is for and in which format its body is. The tables are providers.def and
 * routes.def; what a user gave with --upstream wins over the providers' own addresses. */
#include "proxy.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct provider_row providers[PROVIDER_COUNT] = {
#define PROVIDER(id, name, url, price, forced) {name, url, price, forced},
#include "providers.def"
#undef PROVIDER
};

const paucis_price *provider_price(enum provider p) {
    const paucis_price *row;
    for (size_t i = 0; (row = paucis_price_at(i)); i++)
        if (strcmp(row->name, providers[p].price) == 0) return row;
    return paucis_price_at(0);
}

struct path_row {
    const char *ending, *format;
    bool counts;
};

static const struct path_row paths[] = {
#define PATH(ending, format, counts) {ending, format, counts},
#include "routes.def"
#undef PATH
};

struct hint_row {
    enum provider provider;
    const char *prefix, *header, *value;
};

static const struct hint_row hints[] = {
#define HINT(provider, prefix, header, value) {PROVIDER_##provider, prefix, header, value},
#include "routes.def"
#undef HINT
};

static const struct path_row *find_path(const char *path, size_t n) {
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        size_t len = strlen(paths[i].ending);
        if (n >= len && memcmp(path + n - len, paths[i].ending, len) == 0) return &paths[i];
    }
    return NULL;
}

static bool hint_fits(const struct hint_row *hint, const char *uri, const struct headers *h) {
    if (strncmp(uri, hint->prefix, strlen(hint->prefix)) != 0) return false;
    if (!*hint->header) return true;
    const char *value = headers_get(h, hint->header);
    return value && strncasecmp(value, hint->value, strlen(hint->value)) == 0;
}

/* The provider that the first segment names; *uri is then what follows it. */
static bool named_provider(const char **uri, enum provider *p) {
    for (size_t i = 0; i < PROVIDER_COUNT; i++) {
        size_t len = strlen(providers[i].name);
        const char *rest = *uri + 1 + len;
        if (strncmp(*uri + 1, providers[i].name, len) != 0 || !strchr("/?", *rest)) continue;
        *uri = rest; /* also at its end, where strchr finds the NUL */
        *p = (enum provider)i;
        return true;
    }
    return false;
}

/* Base address and path. Both often end and begin with the same segments (".../v1" and "/v1/..."):
 * the longest such overlap stands once. */
static char *join(const char *base, const char *uri) {
    const char *host = strstr(base, "://");
    const char *path = host ? strchr(host + 3, '/') : NULL;
    size_t len = strlen(base);
    while (len > 0 && base[len - 1] == '/') len--;
    for (const char *p = path; p && p < base + len;
         p = memchr(p + 1, '/', len - (size_t)(p + 1 - base))) {
        size_t n = len - (size_t)(p - base);
        if (strncmp(uri, p, n) == 0 && (uri[n] == '/' || uri[n] == '?' || uri[n] == '\0')) {
            len -= n;
            break;
        }
        if (p + 1 >= base + len) break;
    }
    size_t n = strlen(uri) + 1;
    char *url = malloc(len + n);
    if (!url) return NULL;
    memcpy(url, base, len);
    memcpy(url + len, uri, n);
    return url;
}

bool route_find(struct route *r, const struct config *c, const char *uri, const struct headers *h) {
    *r = (struct route){.provider = PROVIDER_OPENAI};
    if (!named_provider(&uri, &r->provider)) {
        size_t i = 0;
        while (!hint_fits(&hints[i], uri, h)) i++; /* the last row fits everything */
        r->provider = hints[i].provider;
    }
    const struct path_row *row = find_path(uri, strcspn(uri, "?"));
    if (row) {
        r->format = row->format;
        r->counts = row->counts;
    }
    const char *base = c->upstream[r->provider];
    r->url = join(base ? base : providers[r->provider].url, uri);
    return r->url != NULL;
}
