/*
 * std::condition_variable and condition_variable_any: predicates, wait_for and wait_until that time out and
 * are not early, any lock type, notify_all_at_thread_exit.  ISO C++ [thread.condition].
 */
#include "conform.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int
main()
{
    std::mutex m;
    std::condition_variable cv;
    std::condition_variable_any any;
    std::shared_mutex sm;
    std::vector<std::thread> threads;
    int ready = 0, passed = 0, exited = 0;

    {
        std::unique_lock<std::mutex> l(m);
        auto end = std::chrono::steady_clock::now() + 20ms;
        printf("wait_for: %d\n", cv.wait_for(l, 20ms, [&] { return ready; }));
        CHECK(std::chrono::steady_clock::now() >= end);
        auto until = std::chrono::system_clock::now() + 20ms;
        printf("wait_until: %d\n", cv.wait_until(l, until, [&] { return ready; }));
        CHECK(std::chrono::system_clock::now() >= until);
    }
    for (int i = 0; i < 30; i++)
        threads.emplace_back([&] {
            std::unique_lock<std::mutex> l(m);
            cv.wait(l, [&] { return ready == 1; });
            passed++;
        });
    {
        std::lock_guard<std::mutex> l(m);
        ready = 1;
    }
    cv.notify_all();
    for (auto &t : threads)
        t.join();
    threads.clear();
    printf("passed %d\n", passed);

    for (int i = 0; i < 20; i++)
        threads.emplace_back([&] {
            std::shared_lock<std::shared_mutex> l(sm);
            any.wait(l, [&] { return ready == 2; });
            __atomic_add_fetch(&passed, 1, __ATOMIC_RELAXED);
        });
    {
        std::unique_lock<std::shared_mutex> l(sm);
        printf("any, wait_for: %d\n", any.wait_for(l, 5ms, [&] { return ready == 2; }));
        ready = 2;
    }
    any.notify_all();
    for (auto &t : threads)
        t.join();
    printf("passed %d\n", passed);

    std::thread t([&] {
        std::unique_lock<std::mutex> l(m);
        exited = 1;
        std::notify_all_at_thread_exit(cv, std::move(l));
    });
    {
        std::unique_lock<std::mutex> l(m);
        cv.wait(l, [&] { return exited; });
    }
    t.join();
    printf("at thread exit %d\n", exited);
    return conform_status();
}
