/* What the servers of the command (serve, mcp --http) ask at the door: where to listen, whether a
 * Host or Origin is this machine's, whether a secret is the right one. */
#ifndef PAUCIS_DOOR_H
#define PAUCIS_DOOR_H

#include "cli.h"

#include <sys/socket.h>

struct address {
    struct sockaddr_storage at;
    socklen_t len;
    bool loopback;
};

/* ADDRESS:PORT, [ADDRESS]:PORT, or PORT, which is on this machine only. False: reported. */
bool address_read(struct address *a, const char *text);

/* "localhost", "127.x.y.z" or "[::1]", with or without a port. */
bool host_is_here(const char *host);

/* Compares in a time that does not depend on where the texts differ. */
bool same_secret(const char *given, size_t n, const char *secret);

#endif
