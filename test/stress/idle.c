/*
 * What an idle process keeps. usage: idle burst|stacks|parked N
 * burst: N threads in the kernel at once (waitid), then none; the kernel threads must go. One of them has a child that asked for
 *   SIGKILL at its parent's death, and must not go.
 * stacks: N threads at once that use a megabyte of stack each, then none; the memory must go.
 * parked: N threads that wait for ever; in three seconds no kernel thread of the process may be switched in.
 * Prints what it saw; status 0 if it is as it should be. Waits half a minute at most for each.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static int go[2], forkedone[2], ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void
die(const char *what)
{
    perror(what);
    exit(2);
}

/* Sums up over /proc/self/task what `of` finds in each; returns the number of tasks. */
static int
tasks(const char *file, const char *field, long *sum)
{
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    int n = 0;

    *sum = 0;
    while ((e = readdir(d)) != NULL) {
        char path[300], line[300];
        FILE *f;

        if (e->d_name[0] == '.')
            continue;
        n++;
        if (field == NULL)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/%s", e->d_name, file);
        if ((f = fopen(path, "r")) == NULL)
            continue;
        while (fgets(line, sizeof line, f) != NULL)
            if (strncmp(line, field, strlen(field)) == 0)
                *sum += strtol(line + strlen(field), NULL, 10);
        fclose(f);
    }
    closedir(d);
    return n;
}

static void *
inkernel(void *arg)
{
    siginfo_t info;

    (void)arg;
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) != 0)
        die("waitid");
    return NULL;
}

static void *
parent(void *arg)
{
    pid_t *pid = arg;
    char b;

    *pid = fork();
    if (*pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(go[1]);
        close(ends[1]);
        (void)!write(forkedone[1], "", 1);
        (void)!read(go[0], &b, 1);      /* until our parent ends */
        _exit(0);
    }
    (void)!read(forkedone[0], &b, 1);
    return inkernel(NULL);
}

static pthread_t *
start(int n, void *(*fn)(void *), void *arg)
{
    pthread_t *th = calloc((size_t)n, sizeof *th);

    for (int i = 0; i < n; i++)
        if (pthread_create(&th[i], NULL, fn, arg) != 0)
            die("pthread_create");
    return th;
}

static int
burst(int n)
{
    pid_t orphan;
    pthread_t *th, first;
    int most = 0, left = 0;
    long sum;

    if (pipe(go) != 0 || pipe(ends) != 0 || pipe(forkedone) != 0)
        die("pipe");
    child = fork();
    if (child == 0) {
        char b;

        close(ends[1]);
        (void)!read(ends[0], &b, 1);
        _exit(0);
    }
    close(ends[0]);
    first = *start(1, parent, &orphan);
    th = start(n, inkernel, NULL);
    for (int i = 0; i < 3000 && most < n; i++) {
        usleep(10000);
        most = tasks(NULL, NULL, &sum);
    }
    close(ends[1]);
    for (int i = 0; i < n; i++)
        pthread_join(th[i], NULL);
    pthread_join(first, NULL);
    waitpid(child, NULL, 0);
    for (int i = 0; i < 300; i++) {
        left = tasks(NULL, NULL, &sum);
        if (left < 64)
            break;
        usleep(100000);
    }
    printf("%s kernel threads, then %s, the child %s\n", most >= n ? "many" : "too few", left < 64 ? "few" : "still many",
           waitpid(orphan, NULL, WNOHANG) == 0 ? "lives" : "is dead");
    return most >= n && left < 64 && waitpid(orphan, NULL, WNOHANG) == 0 ? 0 : 1;
}

static void *
deep(void *arg)
{
    char mem[1 << 20];

    memset(mem, 1, sizeof mem);
    __asm__ volatile("" : : "r"(mem) : "memory");
    (void)arg;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static long
resident(void)
{
    long size, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (fscanf(f, "%ld %ld", &size, &pages) != 2)
        die("statm");
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int
stacks(int n)
{
    long before, after = 0;
    pthread_t *th;

    pthread_mutex_lock(&lock);
    th = start(n, deep, NULL);
    usleep(100000);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++)
        pthread_join(th[i], NULL);
    before = resident();
    for (int i = 0; i < 300; i++) {
        after = resident();
        if (after < 8 << 10)
            break;
        usleep(100000);
    }
    printf("%s, then %s\n", before > n << 9 ? "large" : "not large", after < 8 << 10 ? "small" : "still large");
    return before > n << 9 && after < 8 << 10 ? 0 : 1;
}

static void *
waits(void *arg)
{
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
    return arg;
}

/* A child looks: the look itself switches. */
static int
parked(int n)
{
    int out[2];
    pid_t looker;

    if (pipe(out) != 0)
        die("pipe");
    looker = fork();
    if (looker == 0) {
        char command[400];

        close(out[1]);
        (void)!read(out[0], command, 1);
        snprintf(command, sizeof command,
                 "cd /proc/%d/task || exit 2; n() { cat */status | awk '/ctxt_switches/ { s += $2 } END { print s }'; }; "
                 "i=0; while [ $i -lt 10 ]; do a=$(n); sleep 3; b=$(n); [ $a = $b ] && { echo 'nobody was switched in'; exit 0; }; "
                 "i=$((i + 1)); done; echo \"$((b - a)) switches in 3 s\"; exit 1", (int)getppid());
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(2);
    }
    start(n, waits, NULL);
    close(out[1]);
    int status = 0;
    waitpid(looker, &status, 0);        /* keeps a kernel thread, which sleeps */
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int
main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (n > 0 && strcmp(argv[1], "burst") == 0)
        return burst(n);
    if (n > 0 && strcmp(argv[1], "stacks") == 0)
        return stacks(n);
    if (n > 0 && strcmp(argv[1], "parked") == 0)
        return parked(n);
    fprintf(stderr, "usage: idle burst|stacks|parked N\n");
    return 2;
}
