/*
 * A semaphore used as a completion: the waiter destroys and unmaps it as soon as sem_wait returns, while the
 * poster may still be leaving sem_post.  POSIX sem_destroy; glibc keeps it safe since 2.21.
 */
#include "conform.h"
#include <semaphore.h>
#include <sys/mman.h>

static void *
posts(void *arg)
{
    sem_post((sem_t *)arg);
    return NULL;
}

int
main(void)
{
    pthread_t t[4];
    sem_t *s[4];
    int r, i, n = 0;

    for (r = 0; r < 250; r++) {
        for (i = 0; i < 4; i++) {
            s[i] = (sem_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            sem_init(s[i], 0, 0);
            t[i] = spawn(posts, s[i]);
        }
        for (i = 0; i < 4; i++) {
            n += sem_wait(s[i]) == 0;
            sem_destroy(s[i]);
            munmap(s[i], 4096);
        }
        for (i = 0; i < 4; i++)
            join(t[i]);
    }
    printf("completions %d\n", n);
    return conform_status();
}
