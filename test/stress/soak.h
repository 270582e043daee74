/* What the files of the soak share: see soak.c. */
#ifndef SOAK_H
#define SOAK_H
#define _GNU_SOURCE 1
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* The wire. The client begins with struct hello; then messages, each a length (1 to MAXMSG) and so many bytes of pattern().
 * The server sends each message back with its bytes flipped (FLIP). At QUIT, or at the end of the stream, it sends TRAILER,
 * what it counted, and closes. */
enum { MAXMSG = 65536, QUIT = 0, FLIP = 0xa5 };
#define TRAILER UINT32_C(0xffffffff)

struct hello {
    uint64_t seed;
    uint32_t mayabort;          /* the client may end it at any time */
    uint32_t magic;
};
#define MAGIC UINT32_C(0x50a4)

struct trailer {
    uint64_t bytes;             /* of messages, without the lengths; as many in as out */
    uint64_t insum, outsum;
};

/* Faults made on purpose, to see that each is found. */
enum fault { FaultNone, FaultFlip, FaultLose, FaultFd, FaultPage, FaultThread, FaultHang, FaultEdge };

struct options {
    int connections, cycles, stall;     /* stall: s without progress that are a failure */
    double seconds;
    uint64_t seed;
    enum fault fault;
    bool native;                        /* the server's threads are the kernel's */
    int server;                         /* its pid */
    int from;                           /* what it says */
};

extern struct options options;
extern _Atomic int failures;

uint64_t rnd(uint64_t *state, uint64_t n);      /* 0..n-1 */
uint64_t mix(uint64_t x);                       /* a hash */
int64_t now(void);                              /* ns */
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));          /* says so and goes on */
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool readline(int fd, char *buf, size_t size);

/* The bytes [off, off + n) of a stream that consists of messages only, and their sum, which is weighted by place: the sums
 * of parts of a stream add up to that of the whole. */
void pattern(uint64_t seed, uint64_t off, unsigned char *buf, size_t n);
uint64_t placesum(uint64_t off, const unsigned char *buf, size_t n);
void flip(unsigned char *buf, size_t n);

/* soak_server.c */
struct totals {
    _Atomic uint64_t accepted, clean, cut, stillborn, bytes, eintr, intimeouts, outtimeouts, handoffs, detached, joined, signals;
};
extern struct totals totals;
extern _Atomic int live, peak;                  /* threads of connections and their second threads */

struct target {                                 /* a thread that may be sent signals */
    pthread_t thread;
    int index;
};

int server(void);
void enlist(struct target *t), delist(struct target *t);        /* by the thread itself */
void born(void);
pthread_t start(void *(*fn)(void *), void *arg, bool detached);

/* soak_conn.c */
void converse(int fd);                          /* with the client, to the end; closes fd */

/* soak_client.c */
struct counts {
    uint64_t opened, clean, cut, messages, bytes, noport;
    int most;                                   /* at once */
};
extern struct counts counts;
bool load(const int ports[2], double seconds);  /* false: something stands still, or the server has gone */

#endif
