/*
 * thread_local objects with destructors: made at first use in each thread, destroyed at its end in reverse order,
 * before the destructors of pthread keys, on the thread itself (which may block in them); main's at
 * exit, before static ones.  ISO C++ [basic.start.term].
 */
#include "conform.h"
#include <atomic>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> made, gone, wrong_thread;
static pthread_key_t key;

struct Logged {
    const char *name;
    pthread_t owner;
    bool loud;

    Logged(const char *n) : name(n), owner(pthread_self()), loud(false) { made++; }
    ~Logged()
    {
        if (!pthread_equal(owner, pthread_self()))
            wrong_thread++;
        gone++;
        if (loud)
            printf("  ~%s\n", name);
        else if (made % 5 == 0)
            msleep(1);
    }
};

static thread_local Logged first("first"), second("second");
static Logged fixed("static");

static void
key_destructor(void *)
{
    printf("  key\n");
}

static void
function_local(bool loud)
{
    static thread_local Logged local("local");

    local.loud = loud;
}

static void
body(bool loud)
{
    first.loud = loud;
    second.loud = loud;
    function_local(loud);
}

int
main()
{
    std::vector<std::thread> threads;

    OK(pthread_key_create(&key, key_destructor));
    printf("one thread:\n");
    std::thread([] {
        pthread_setspecific(key, &key);
        body(true);
    }).join();
    for (int i = 0; i < 50; i++)
        threads.emplace_back(body, false);
    for (auto &t : threads)
        t.join();
    printf("made %d, gone %d, on the wrong thread %d\n", made.load(), gone.load(), wrong_thread.load());
    printf("main:\n");
    fixed.loud = true;
    body(true);
    return conform_status();
}
