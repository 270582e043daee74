/*
 * std::thread, std::async, futures and promises, packaged_task: values and exceptions come through.
 * ISO C++ [futures].
 */
#include "conform.h"
#include <future>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

int
main()
{
    std::vector<std::thread> threads;
    std::vector<long> part(16);

    for (int i = 0; i < 16; i++)
        threads.emplace_back([&part, i] { for (int k = 0; k < 1000; k++) part[i] += i; });
    for (auto &t : threads)
        t.join();
    printf("threads: %ld\n", std::accumulate(part.begin(), part.end(), 0L));

    std::vector<std::future<std::string>> futures;
    for (int i = 0; i < 20; i++)
        futures.push_back(std::async(std::launch::async, [i] {
            if (i % 5 == 4)
                throw std::runtime_error("odd one " + std::to_string(i));
            std::this_thread::sleep_for(std::chrono::milliseconds(i % 3));
            return "value " + std::to_string(i);
        }));
    for (auto &f : futures) {
        try {
            printf("%s\n", f.get().c_str());
        } catch (const std::exception &e) {
            printf("thrown: %s\n", e.what());
        }
    }

    std::promise<int> p;
    std::shared_future<int> sf = p.get_future().share();
    std::vector<std::future<int>> readers;
    for (int i = 0; i < 10; i++)
        readers.push_back(std::async(std::launch::async, [sf, i] { return sf.get() + i; }));
    printf("not ready: %d\n", sf.wait_for(std::chrono::milliseconds(5)) == std::future_status::timeout);
    p.set_value(100);
    int sum = 0;
    for (auto &r : readers)
        sum += r.get();
    printf("promise: %d\n", sum);

    std::packaged_task<int(int)> task([](int x) { return x * x; });
    auto result = task.get_future();
    std::thread(std::move(task), 12).join();
    printf("task: %d\n", result.get());

    std::promise<void> never;
    auto broken = never.get_future();
    std::thread([pr = std::move(never)]() mutable { auto gone = std::move(pr); }).join();
    try {
        broken.get();
    } catch (const std::future_error &e) {
        printf("broken promise: %d\n", e.code() == std::future_errc::broken_promise);
    }
    return conform_status();
}
