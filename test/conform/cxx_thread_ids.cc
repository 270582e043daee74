/*
 * std::thread::id: unique among live threads, equal to get_id() inside, none after join; hardware_concurrency is what
 * the affinity mask says; a joinable thread can be moved, swapped, detached.  ISO C++ [thread.thread.id].
 */
#include "conform.h"
#include <future>
#include <sched.h>
#include <set>
#include <thread>
#include <vector>

int
main()
{
    std::vector<std::thread> threads;
    std::vector<std::thread::id> ids(50);
    std::set<std::thread::id> unique{ std::this_thread::get_id() };
    std::promise<void> go;
    auto gate = go.get_future().share();
    int differ = 0;
    cpu_set_t set;

    for (int i = 0; i < 50; i++)
        threads.emplace_back([&ids, i, gate] {
            gate.wait();
            ids[i] = std::this_thread::get_id();
        });
    for (auto &t : threads)
        unique.insert(t.get_id());
    std::vector<std::thread::id> handles;
    for (auto &t : threads)
        handles.push_back(t.get_id());
    go.set_value();
    for (auto &t : threads)
        t.join();
    for (int i = 0; i < 50; i++)
        differ += handles[i] != ids[i];
    printf("unique %zu, differ %d, none after join %d\n", unique.size(), differ,
           threads[0].get_id() == std::thread::id());
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    printf("hardware_concurrency as the mask: %d\n", (int)std::thread::hardware_concurrency() == CPU_COUNT(&set));

    std::promise<int> p;
    auto f = p.get_future();
    std::thread a([p = std::move(p)]() mutable { p.set_value(3); }), b(std::move(a)), c;
    swap(b, c);
    printf("joinable %d %d %d\n", a.joinable(), b.joinable(), c.joinable());
    c.detach();
    printf("detached one: %d\n", f.get());
    return conform_status();
}
