/* See door.h. */
#include "door.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* getaddrinfo would take a larger number and keep its last 16 bits. */
static bool is_port(const char *text) {
    size_t n = strlen(text);
    return n && n <= 5 && strspn(text, "0123456789") == n && strtol(text, NULL, 10) <= 65535;
}

static bool is_loopback(const struct sockaddr_storage *a) {
    if (a->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->ss_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

bool address_read(struct address *a, const char *text) {
    char host[256];
    const char *colon = strrchr(text, ':'), *from = text, *port = colon ? colon + 1 : text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    struct addrinfo hints = {.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
    if (n > 1 && text[0] == '[' && text[n - 1] == ']') from++, n -= 2;
    snprintf(host, sizeof host, "%.*s", (int)n, from);
    if (n >= sizeof host || !is_port(port) ||
        getaddrinfo(n ? host : "127.0.0.1", port, &hints, &found) != 0) {
        usage_error("'%s' is not ADDRESS:PORT", text);
        return false;
    }
    *a = (struct address){.len = found->ai_addrlen};
    memcpy(&a->at, found->ai_addr, found->ai_addrlen);
    a->loopback = is_loopback(&a->at);
    freeaddrinfo(found);
    return true;
}

bool host_is_here(const char *host) {
    char name[64];
    const char *end = *host == '[' ? strchr(host, ']') : NULL;
    size_t n = end ? (size_t)(end + 1 - host) : strcspn(host, ":");
    if (n >= sizeof name || (host[n] != '\0' && host[n] != ':')) return false;
    memcpy(name, host, n);
    name[n] = '\0';
    struct in_addr v4;
    if (strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0) return true;
    return inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

bool same_secret(const char *given, size_t n, const char *secret) {
    size_t len = strlen(secret);
    unsigned char diff = n != len;
    for (size_t i = 0; i < n && len > 0; i++) diff |= (unsigned char)(given[i] ^ secret[i % len]);
    return diff == 0;
}
