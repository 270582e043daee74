/*
 * An exception caught in one thread is rethrown in others through std::exception_ptr, and lives until the last of
 * them is done.  ISO C++ [propagation].
 */
#include "conform.h"
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

static std::atomic<int> alive;

struct Counted {
    Counted() { alive++; }
    Counted(const Counted &) { alive++; }
    ~Counted() { alive--; }
    int value = 17;
};

int
main()
{
    std::exception_ptr p;
    std::vector<std::thread> threads;
    std::atomic<int> sum{ 0 };

    std::thread([&p] {
        try {
            throw Counted();
        } catch (...) {
            p = std::current_exception();
        }
    }).join();
    printf("alive %d\n", alive.load());
    for (int i = 0; i < 30; i++)
        threads.emplace_back([p, &sum] {
            try {
                std::rethrow_exception(p);
            } catch (const Counted &c) {
                sched_yield();
                sum += c.value;
            }
        });
    for (auto &t : threads)
        t.join();
    threads.clear();
    p = nullptr;
    printf("sum %d, alive %d\n", sum.load(), alive.load());
    return conform_status();
}
