/* A load for `paucis serve`: a fast stand-in provider, and clients that measure the time to the
 * first byte of the answer.
 *
 *   proxy_load serve PORT                       answers every request with a short event stream
 *   proxy_load closed PORT FILE N CLIENTS       N requests as fast as they go: requests a second
 *   proxy_load open PORT FILE N RATE CLIENTS    N requests at fixed times: p50, p99, max in ms
 *   proxy_load hold PORT FILE STREAMS SECONDS   keeps streams open that send nothing more
 *
 * In an open loop a request's time counts from when it was due, not from when a free client got
 * to it, so that waiting is not hidden. "@@@@@@@@" in the file is replaced by the request's
 * number, and so every request is a conversation of its own, or a branch of one. Where the file has
 * "########" it is the number of a conversation that its client leads, each request a call and its
 * result longer, put in at that place: for LOAD_STEPS requests, or for all. Files named in
 * LOAD_BEFORE are earlier requests of it, sent before the clock starts. A request whose path is
 * /hold gets its head and one event, and nothing more. */
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

enum { MOST_BEFORE = 32 };

struct body {
    char *at;
    size_t len, mark; /* where the number goes, 0: nowhere */
    size_t grow;      /* where a step goes, 0: nowhere */
};

static struct {
    int port;
    const char *path;
    struct body body, before[MOST_BEFORE];
    size_t nbefore;
    pthread_barrier_t ready;
    long n, steps;      /* steps: requests of a conversation */
    double rate, start; /* rate 0: closed loop */
    atomic_long next;
    long first; /* numbers differ from run to run */
    double *times;
} load;

static int dial(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)load.port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&a, sizeof a)) die("connect");
    return nodelay(fd);
}

enum { STEP_ROOM = 512 };

/* One more call and its result. */
static size_t add_step(char *body, size_t len, size_t *at, long number) {
    char step[STEP_ROOM];
    static const char form[] =
        ",{\"role\":\"assistant\",\"content\":\"Next.\",\"tool_calls\":[{\"id\":\"step_%ld\","
        "\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":"
        "\"{\\\"path\\\":\\\"src/new%ld.c\\\"}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"step_%ld\","
        "\"content\":\"int value_%ld(void) { return %ld; }\"}";
    int n = snprintf(step, sizeof step, form, number, number, number, number, number);
    memmove(body + *at + n, body + *at, len - *at);
    memcpy(body + *at, step, (size_t)n);
    *at += (size_t)n;
    return len + (size_t)n;
}

static void post(int fd, const char *body, size_t len) {
    char head[256];
    int n = snprintf(head, sizeof head,
                     "POST %s HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer k\r\n"
                     "content-type: application/json\r\ncontent-length: %zu\r\n\r\n",
                     load.path, len);
    if (send_all(fd, head, (size_t)n) || send_all(fd, body, len)) die("send");
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

/* A body with a number in it, into a buffer; its length. */
static size_t put_body(char *to, const struct body *b, long number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%08ld", number % 100000000);
    memcpy(to, b->at, b->len);
    if (b->mark) memcpy(to + b->mark, digits, 8);
    return b->len;
}

static void *client(void *arg) {
    const struct body *whole = &load.body;
    int fd = dial();
    size_t steps = whole->grow ? (size_t)load.steps : 0, len = 0, at = 0;
    char *body = malloc(whole->len + steps * STEP_ROOM + 1);
    long step = 0, mine = load.first + (long)(intptr_t)arg;
    for (size_t i = 0; i < load.nbefore; i++) {
        post(fd, body, put_body(body, &load.before[i], mine));
        receive(fd);
    }
    pthread_barrier_wait(&load.ready);
    pthread_barrier_wait(&load.ready); /* the clock is set */
    for (long i; (i = atomic_fetch_add(&load.next, 1)) < load.n;) {
        double due = load.rate > 0 ? load.start + (double)i / load.rate : now();
        double wait = due - now();
        if (wait > 0) {
            struct timespec t = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
            nanosleep(&t, NULL);
        }
        if (len == 0 || step == load.steps) {
            len = put_body(body, whole, len == 0 ? mine : load.first + 1000 + i);
            at = whole->grow;
            step = 0;
        }
        if (steps > 0) len = add_step(body, len, &at, step);
        step++;
        post(fd, body, len);
        load.times[i] = receive(fd) - due;
    }
    close(fd);
    free(body);
    return NULL;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void run(int clients) {
    pthread_t *t = calloc((size_t)clients, sizeof *t);
    load.times = calloc((size_t)load.n, sizeof *load.times);
    pthread_barrier_init(&load.ready, NULL, (unsigned)clients + 1);
    for (int i = 0; i < clients; i++)
        if (pthread_create(&t[i], NULL, client, (void *)(intptr_t)i)) die("thread");
    pthread_barrier_wait(&load.ready);
    load.start = now() + 0.01;
    pthread_barrier_wait(&load.ready);
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
        post(fds[i], load.body.at, load.body.len);
        if (recv(fds[i], buf, sizeof buf, 0) <= 0) die("recv");
    }
    printf("%d streams open\n", streams);
    fflush(stdout);
    usleep((unsigned)(seconds * 1e6));
    for (int i = 0; i < streams; i++) close(fds[i]);
    free(fds);
}

static struct body read_body(const char *file) {
    struct body b = {0};
    FILE *f = fopen(file, "rb");
    if (!f) die(file);
    fseek(f, 0, SEEK_END);
    b.len = (size_t)ftell(f);
    rewind(f);
    b.at = malloc(b.len + 1);
    if (fread(b.at, 1, b.len, f) != b.len) die(file);
    fclose(f);
    char *mark = memmem(b.at, b.len, "@@@@@@@@", 8), *grow = memmem(b.at, b.len, "########", 8);
    b.mark = mark ? (size_t)(mark - b.at) : 0;
    if (!grow) return b;
    b.grow = (size_t)(grow - b.at);
    memmove(grow, grow + 8, b.len - b.grow - 8);
    b.len -= 8;
    return b;
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
    load.body = read_body(argv[3]);
    load.n = strtol(argv[4], NULL, 10);
    load.steps = getenv("LOAD_STEPS") ? strtol(getenv("LOAD_STEPS"), NULL, 10) : load.n;
    load.first = (long)(now() * 1000) % 10000000 * 10;
    char *files = getenv("LOAD_BEFORE") ? strdup(getenv("LOAD_BEFORE")) : NULL, *rest = files;
    for (char *file; files && (file = strsep(&rest, " ")) && load.nbefore < MOST_BEFORE;)
        if (*file) load.before[load.nbefore++] = read_body(file);
    free(files);
    if (strcmp(argv[1], "hold") == 0) {
        hold((int)load.n, strtod(argv[5], NULL));
    } else if (strcmp(argv[1], "closed") == 0) {
        run((int)strtol(argv[5], NULL, 10));
    } else if (argc > 6) {
        load.rate = strtod(argv[5], NULL);
        run((int)strtol(argv[6], NULL, 10));
    }
    while (load.nbefore) free(load.before[--load.nbefore].at);
    free(load.body.at);
    return 0;
}
