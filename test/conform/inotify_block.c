/*
 * A thread that waits in read on an inotify descriptor gets the events that other threads cause, in order.
 * inotify(7).
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

static int fd;

static void *
watcher(void *arg)
{
    char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event)))), *p;
    ssize_t n;

    (void)arg;
    while ((n = read(fd, buf, sizeof buf)) > 0) {
        for (p = buf; p < buf + n; p += sizeof(struct inotify_event) + ((struct inotify_event *)(void *)p)->len) {
            struct inotify_event *e = (struct inotify_event *)(void *)p;

            printf("%s %s\n", e->mask & IN_CREATE ? "create" : e->mask & IN_DELETE ? "delete" : e->mask & IN_CLOSE_WRITE
                   ? "close" : "other", e->len ? e->name : "-");
            if (strcmp(e->name, "last") == 0 && e->mask & IN_DELETE)
                return NULL;
        }
    }
    printf("read: %zd\n", n);
    return NULL;
}

static void *
toucher(void *arg)
{
    char path[64];

    snprintf(path, sizeof path, "conform.d/%s", (char *)arg);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    msleep(2);
    unlink(path);
    return NULL;
}

int
main(void)
{
    pthread_t t;

    mkdir("conform.d", 0700);
    fd = inotify_init1(IN_CLOEXEC);
    if (fd < 0 || inotify_add_watch(fd, "conform.d", IN_CREATE | IN_DELETE | IN_CLOSE_WRITE) < 0)
        SKIP("no inotify");
    t = spawn(watcher, NULL);
    msleep(10);
    join(spawn(toucher, (void *)"one"));
    join(spawn(toucher, (void *)"two"));
    join(spawn(toucher, (void *)"last"));
    join(t);
    rmdir("conform.d");
    return conform_status();
}
