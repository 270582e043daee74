/*
 * std::mutex, recursive_mutex, timed_mutex, shared_mutex, shared_timed_mutex, scoped_lock: exclusion, try, time-outs that are
 * not early.  ISO C++ [thread.mutex].
 */
#include "conform.h"
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

template <class F> static void
in_thread(F f)
{
    std::thread(f).join();
}

int
main()
{
    std::mutex a;
    std::recursive_mutex r;
    std::timed_mutex t;
    std::shared_mutex s;
    std::shared_timed_mutex st;
    long count = 0, x = 0, y = 0, bad = 0;
    std::vector<std::thread> threads;

    std::lock_guard<std::mutex> hold(a);
    in_thread([&] { printf("mutex: %d\n", a.try_lock()); });
    r.lock();
    printf("recursive: %d", r.try_lock());
    in_thread([&] { printf(" %d\n", r.try_lock()); });
    r.unlock();
    r.unlock();
    t.lock();
    in_thread([&] {
        auto end = Clock::now() + 20ms;
        printf("timed: %d", t.try_lock_for(20ms));
        CHECK(Clock::now() >= end);
        auto until = std::chrono::system_clock::now() + 10ms;
        printf(" %d\n", t.try_lock_until(until));
        CHECK(std::chrono::system_clock::now() >= until);
    });
    t.unlock();
    s.lock_shared();
    in_thread([&] {
        printf("shared while shared: %d", s.try_lock_shared());
        s.unlock_shared();
        printf(", exclusive %d\n", s.try_lock());
    });
    s.unlock_shared();
    st.lock();
    in_thread([&] {
        auto end = Clock::now() + 10ms;
        printf("shared timed: %d %d\n", st.try_lock_for(10ms), st.try_lock_shared_for(1ms));
        CHECK(Clock::now() >= end);
    });
    st.unlock();

    std::mutex m1, m2;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&, i] {
            for (int k = 0; k < 1000; k++) {
                if (i % 2) {
                    std::scoped_lock l(m1, m2);
                    count++;
                } else {
                    std::scoped_lock l(m2, m1);
                    count++;
                }
                if (k % 10 == 0) {
                    std::unique_lock<std::shared_mutex> l(s);
                    x++;
                    y++;
                } else {
                    std::shared_lock<std::shared_mutex> l(s);
                    if (x != y)
                        __atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
                }
            }
        });
    for (auto &th : threads)
        th.join();
    printf("count %ld, x %ld, y %ld, bad %ld\n", count, x, y, bad);
    return conform_status();
}
