/* A load for `paucis serve`: a fast stand-in provider, and clients that measure the time to the
 * first byte of the answer.
 *
 *   proxy_load serve PORT                       answers every request with a short event stream
 *   proxy_load closed PORT FILE N CLIENTS       N requests as fast as they go: requests a second
 *   proxy_load open PORT FILE N RATE CLIENTS    N requests at fixed times: p50, p99, max in ms
 *   proxy_load hold PORT FILE STREAMS SECONDS   keeps streams open that send nothing more
 *
 * In an open loop a request's time counts from when it was due, not from when a free client got
 * to it, so that waiting is not hidden. A request whose path is /hold gets its head and one event,
 * and nothing more.
 *
 * FILE has three pieces with a byte 0x1e between them: the body up to the end of its messages, one
 * more step, and the rest. There are as many conversations as clients. Each sends its body twice,
 * which is not measured, and then again with one step more every time, as agents do. "@@@@@@@@" in
 * the first piece is replaced by the number of the conversation, in a step by that of the step. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <netinet/tcp.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int nodelay(int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void small_threads(pthread_attr_t *a) {
    pthread_attr_init(a);
    pthread_attr_setstacksize(a, 256 * 1024);
    pthread_attr_setdetachstate(a, PTHREAD_CREATE_DETACHED);
}

/* ---- the provider ---------------------------------------------------------------------------- */

static int send_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t w = send(fd, p, n, MSG_NOSIGNAL);
        if (w <= 0) return -1;
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

static const char answer[] =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    "48\r\ndata: "
    "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n\r\n0\r\n\r\n";
static const char held[] =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    "8\r\ndata: 1\n\r\n";

static void *provide(void *arg) {
    int fd = (int)(intptr_t)arg;
    char *buf = malloc(65536);
    size_t have = 0;
    for (;;) {
        char *end;
        while (!(end = have ? memmem(buf, have, "\r\n\r\n", 4) : NULL)) {
            ssize_t r = recv(fd, buf + have, 65535 - have, 0);
            if (r <= 0) goto out;
            have += (size_t)r;
        }
        *end = '\0';
        char *length = strcasestr(buf, "\r\ncontent-length:");
        int hold = strstr(buf, "/hold") != NULL;
        size_t left = length ? strtoul(length + 17, NULL, 10) : 0;
        size_t head = (size_t)(end + 4 - buf), got = have - head;
        while (got < left) {
            ssize_t r = recv(fd, buf, 65536, 0);
            if (r <= 0) goto out;
            got += (size_t)r;
        }
        have = 0;
        if (send_all(fd, hold ? held : answer, strlen(hold ? held : answer))) goto out;
        if (hold) (void)!recv(fd, buf, 1, 0);
    }
out:
    close(fd);
    free(buf);
    return NULL;
}

static void serve(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 4096)) die("listen");
    pthread_attr_t attr;
    small_threads(&attr);
    for (;;) {
        int c = accept(fd, NULL, NULL);
        pthread_t t;
        if (c >= 0 && pthread_create(&t, &attr, provide, (void *)(intptr_t)nodelay(c))) close(c);
    }
}

/* ---- the clients ----------------------------------------------------------------------------- */

enum { KNOWN = 2 }; /* requests that make a conversation known */

struct piece {
    char *at;
    size_t len;
};

static struct {
    int port;
    const char *path;
    struct piece first, step, rest; /* of the body; all steps that will be needed, in `steps` */
    char *steps;
    long n, talks; /* requests; conversations */
    double rate, start; /* rate 0: closed loop */
    atomic_long next;
    double *times;
} load;

static int dial(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)load.port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&a, sizeof a)) die("connect");
    return nodelay(fd);
}

static void number(struct piece p, long n) {
    char digits[24];
    snprintf(digits, sizeof digits, "%08ld", n % 100000000);
    for (char *at = p.at; (at = memmem(at, (size_t)(p.at + p.len - at), "@@@@@@@@", 8)); at += 8)
        memcpy(at, digits, 8);
}

/* One conversation's body: its own first piece, and as many steps as there were. */
static void post(int fd, const char *first, long steps) {
    char head[256];
    size_t more = (size_t)steps * load.step.len;
    int n = snprintf(head, sizeof head,
                     "POST %s HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer k\r\n"
                     "content-type: application/json\r\ncontent-length: %zu\r\n\r\n",
                     load.path, load.first.len + more + load.rest.len);
    if (send_all(fd, head, (size_t)n) || send_all(fd, first, load.first.len) ||
        send_all(fd, load.steps, more) || send_all(fd, load.rest.at, load.rest.len))
        die("send");
}

static char *first_of(long talk) {
    struct piece p = {malloc(load.first.len), load.first.len};
    memcpy(p.at, load.first.at, p.len);
    number(p, (long)getpid() % 100000 * 100 + talk); /* nobody has had it before */
    return p.at;
}

/* The time of the first byte; reads on to the last chunk. */
static double receive(int fd) {
    char buf[16384];
    size_t have = 0;
    double first = 0;
    while (have < 5 || memcmp(buf + have - 5, "0\r\n\r\n", 5) != 0) {
        ssize_t r = recv(fd, buf + have, sizeof buf - have, 0);
        if (r <= 0) die("recv");
        if (have == 0) first = now();
        have += (size_t)r;
    }
    if (memcmp(buf + 9, "200", 3) != 0) {
        fprintf(stderr, "%.300s\n", buf);
        exit(1);
    }
    return first;
}

static void *client(void *arg) {
    (void)arg;
    int fd = dial();
    char **first = calloc((size_t)load.talks, sizeof *first);
    for (long i; (i = atomic_fetch_add(&load.next, 1)) < load.n;) {
        long talk = i % load.talks;
        if (!first[talk]) first[talk] = first_of(talk);
        double due = load.rate > 0 ? load.start + (double)i / load.rate : now();
        double wait = due - now();
        if (wait > 0) {
            struct timespec t = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
            nanosleep(&t, NULL);
        }
        post(fd, first[talk], i / load.talks + KNOWN);
        load.times[i] = receive(fd) - due;
    }
    close(fd);
    for (long i = 0; i < load.talks; i++) free(first[i]);
    free(first);
    return NULL;
}

/* The conversations before the first measured step. Met in mid-session, they are known from the
 * second request on. */
static void begin(void) {
    int fd = dial();
    for (long i = 0; i < load.talks; i++) {
        char *first = first_of(i);
        for (long steps = 0; steps < KNOWN; steps++) {
            post(fd, first, steps);
            receive(fd);
        }
        free(first);
    }
    close(fd);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void run(int clients) {
    pthread_t *t = calloc((size_t)clients, sizeof *t);
    load.talks = clients;
    load.times = calloc((size_t)load.n, sizeof *load.times);
    begin();
    load.start = now() + 0.01;
    for (int i = 0; i < clients; i++)
        if (pthread_create(&t[i], NULL, client, NULL)) die("thread");
    for (int i = 0; i < clients; i++) pthread_join(t[i], NULL);
    double took = now() - load.start;
    qsort(load.times, (size_t)load.n, sizeof *load.times, compare);
    printf("rate %.1f p50 %.3f p90 %.3f p99 %.3f max %.3f\n", (double)load.n / took,
           load.times[load.n / 2] * 1e3, load.times[load.n * 9 / 10] * 1e3,
           load.times[load.n * 99 / 100] * 1e3, load.times[load.n - 1] * 1e3);
    free(load.times);
    free(t);
}

static void hold(int streams, double seconds) {
    char buf[4096];
    int *fds = calloc((size_t)streams, sizeof *fds);
    for (int i = 0; i < streams; i++) {
        fds[i] = dial();
        post(fds[i], load.first.at, 0);
        if (recv(fds[i], buf, sizeof buf, 0) <= 0) die("recv");
    }
    printf("%d streams open\n", streams);
    fflush(stdout);
    usleep((unsigned)(seconds * 1e6));
    for (int i = 0; i < streams; i++) close(fds[i]);
    free(fds);
}

static char *cut(char *from, char *end, struct piece *p) {
    char *to = memchr(from, 0x1e, (size_t)(end - from));
    if (!to) to = end;
    *p = (struct piece){from, (size_t)(to - from)};
    return to < end ? to + 1 : end;
}

static char *read_body(const char *file) {
    FILE *f = fopen(file, "rb");
    if (!f) die(file);
    fseek(f, 0, SEEK_END);
    size_t len = (size_t)ftell(f);
    rewind(f);
    char *body = malloc(len + 1), *end = body + len;
    if (fread(body, 1, len, f) != len) die(file);
    fclose(f);
    cut(cut(cut(body, end, &load.first), end, &load.step), end, &load.rest);
    return body;
}

static void make_steps(void) {
    load.steps = malloc((size_t)(load.n + KNOWN) * load.step.len + 1);
    for (long i = 0; i < load.n + KNOWN; i++) {
        struct piece p = {load.steps + (size_t)i * load.step.len, load.step.len};
        memcpy(p.at, load.step.at, p.len);
        number(p, i);
    }
}

int main(int argc, char **argv) {
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
    if (argc < 3) return 2;
    load.port = (int)strtol(argv[2], NULL, 10);
    load.path = getenv("LOAD_PATH") ? getenv("LOAD_PATH") : "/v1/chat/completions";
    if (strcmp(argv[1], "serve") == 0) serve(load.port);
    if (argc < 6) return 2;
    char *body = read_body(argv[3]);
    load.n = strtol(argv[4], NULL, 10);
    make_steps();
    if (strcmp(argv[1], "hold") == 0) {
        hold((int)load.n, strtod(argv[5], NULL));
    } else if (strcmp(argv[1], "closed") == 0) {
        run((int)strtol(argv[5], NULL, 10));
    } else if (argc > 6) {
        load.rate = strtod(argv[5], NULL);
        run((int)strtol(argv[6], NULL, 10));
    }
    free(load.steps);
    free(body);
    return 0;
}
