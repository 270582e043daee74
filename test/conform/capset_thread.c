/* capset for the calling thread, by number and by 0, in main and in another thread; it stays with the thread. */
#include "conform.h"
#include <linux/capability.h>
#include <sys/syscall.h>

int capget(struct __user_cap_header_struct *, struct __user_cap_data_struct *);
int capset(struct __user_cap_header_struct *, const struct __user_cap_data_struct *);

enum { Rounds = 50 };

static unsigned
effective(int pid)
{
    struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, pid };
    struct __user_cap_data_struct d[2] = { 0 };

    CHECK(capget(&h, d) == 0);
    return d[0].effective;
}

/* Takes all effective capabilities of the lower word away. */
static int
drop(int pid)
{
    struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, pid };
    struct __user_cap_data_struct d[2] = { 0 };

    CHECK(capget(&h, d) == 0);
    d[0].effective = 0;
    return capset(&h, d) == 0 ? 0 : errno;
}

static void *
other(void *arg)
{
    int wrong = 0, e = drop(arg != NULL ? gettid() : 0);

    for (int i = 0; i < Rounds; i++) {
        usleep(100);
        wrong += effective(0) != 0;
    }
    printf("thread by %s: %s, came back %d times\n", arg != NULL ? "tid" : "0", errname(e), wrong);
    return NULL;
}

int
main(void)
{
    static char yes[] = "";
    unsigned had = effective(0);
    int wrong = 0, refused = 0;

    if (had == 0)
        SKIP("no capabilities to take away");
    join(spawn(other, NULL));
    join(spawn(other, yes));
    for (int i = 0; i < Rounds; i++) {
        struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, getpid() };
        struct __user_cap_data_struct d[2] = { 0 };

        usleep(100);
        wrong += effective(0) != had;
        CHECK(capget(&h, d) == 0);
        refused += capset(&h, d) != 0;
    }
    printf("main: lost %d times, refused %d times\n", wrong, refused);
    return conform_status();
}
