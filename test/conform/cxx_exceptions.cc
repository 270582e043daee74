/*
 * Exceptions thrown and caught in 100 threads at once, through nested frames with destructors; the state of
 * exception handling (current_exception, uncaught_exceptions) is each thread's own even when it
 * blocks inside a catch block or a destructor during unwinding.  ISO C++ [except].
 */
#include "conform.h"
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static thread_local int unwound;

struct Guard {
    int id;
    long &bad;

    ~Guard()
    {
        unwound++;
        if (id % 7 == 0) {
            sched_yield();
            if (id % 2 == 0)
                msleep(1);
        }
        if (std::uncaught_exceptions() != 1)
            bad++;
    }
};

static void __attribute__((noinline))
nest(int depth, int id, long &bad)
{
    Guard g{ id, bad };

    if (depth == 0)
        throw std::runtime_error("thrown by " + std::to_string(id));
    nest(depth - 1, id, bad);
}

static void
body(int id, long &bad)
{
    const std::string want = "thrown by " + std::to_string(id);

    for (int i = 0; i < 10; i++) {
        try {
            nest(10, id, bad);
            bad++;
        } catch (const std::exception &e) {
            if (i % 3 == 0)
                msleep(1);
            else
                sched_yield();
            bad += want != e.what();
            try {
                throw id;
            } catch (int v) {
                sched_yield();
                bad += v != id;
            }
            try {
                std::rethrow_exception(std::current_exception());
            } catch (const std::runtime_error &r) {
                bad += want != r.what();
            }
        }
        bad += std::uncaught_exceptions() != 0 || std::current_exception() != nullptr;
    }
    bad += unwound != 110;
}

int
main()
{
    std::vector<long> bad(100);
    std::vector<std::thread> threads;
    long sum = 0;

    for (int i = 0; i < 100; i++)
        threads.emplace_back(body, i, std::ref(bad[i]));
    for (auto &t : threads)
        t.join();
    for (long b : bad)
        sum += b;
    printf("bad %ld\n", sum);
    return conform_status();
}
