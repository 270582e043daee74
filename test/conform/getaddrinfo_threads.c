/*
 * getaddrinfo("localhost") and numeric look-ups from 20 threads with the default stack: each gets 127.0.0.1
 * and its own errors.  POSIX getaddrinfo.
 */
#include "conform.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { N = 20, ROUNDS = 5 };

static int right, failed, noname;

static void *
resolver(void *arg)
{
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *ai;
    char host[64], port[16];
    int i;

    snprintf(port, sizeof port, "%d", 1000 + (int)(intptr_t)arg);
    for (i = 0; i < ROUNDS; i++) {
        int e = getaddrinfo("localhost", port, &hints, &ai);

        if (e != 0) {
            __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
            continue;
        }
        CHECK(getnameinfo(ai->ai_addr, ai->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST) == 0);
        if (strcmp(host, "127.0.0.1") == 0
            && ntohs(((struct sockaddr_in *)ai->ai_addr)->sin_port) == 1000 + (int)(intptr_t)arg)
            __atomic_fetch_add(&right, 1, __ATOMIC_RELAXED);
        freeaddrinfo(ai);
    }
    hints.ai_flags = AI_NUMERICHOST;
    if (getaddrinfo("not-a-number", port, &hints, &ai) == EAI_NONAME)
        __atomic_fetch_add(&noname, 1, __ATOMIC_RELAXED);
    return NULL;
}

int
main(void)
{
    pthread_t t[N];
    int i;

    for (i = 0; i < N; i++)
        t[i] = spawn(resolver, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    if (failed == N * ROUNDS)
        SKIP("localhost does not resolve");
    printf("right %d of %d, EAI_NONAME %d of %d\n", right, N * ROUNDS, noname, N);
    return conform_status();
}
