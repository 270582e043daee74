/*
 * A handler of SIGSEGV or SIGFPE that throws: built with -fnon-call-exceptions the exception is caught around
 * the instruction that faulted, in many threads at once, destructors run.  GCC manual, -fnon-call-exceptions.
 */
#include "conform.h"
#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

enum { N = 8, ROUNDS = 100 };

struct Fault : std::runtime_error {
    int sig;
    explicit Fault(int s) : std::runtime_error("fault"), sig(s) {}
};

struct Guard {
    int &n;
    explicit Guard(int &m) : n(m) {}
    ~Guard() { n++; }
};

static void
handler(int sig)
{
    throw Fault(sig);
}

static volatile int zero;
static int *volatile null;
static volatile int sink;

__attribute__((noinline)) static void
fault(int which, int &destroyed)
{
    Guard g(destroyed);

    if (which)
        sink = *null;
    else
        sink = 1 / zero;
}

static void
body(int me, int *caught, int *destroyed)
{
    for (int i = 0; i < ROUNDS; i++) {
        int which = (i + me) % 2;

        try {
            fault(which, *destroyed);
        } catch (const Fault &f) {
            *caught += f.sig == (which ? SIGSEGV : SIGFPE);
        }
        if (i % 10 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

int
main()
{
    struct sigaction sa = {};
    int caught[N] = {}, destroyed[N] = {};
    std::vector<std::thread> t;

    sa.sa_handler = handler;
    sa.sa_flags = SA_NODEFER;
    CHECK(sigaction(SIGSEGV, &sa, nullptr) == 0 && sigaction(SIGFPE, &sa, nullptr) == 0);
    for (int i = 0; i < N; i++)
        t.emplace_back(body, i, &caught[i], &destroyed[i]);
    for (auto &x : t)
        x.join();
    for (int i = 0; i < N; i++)
        printf("thread %d: caught %d, destroyed %d\n", i, caught[i], destroyed[i]);
    return conform_status();
}
