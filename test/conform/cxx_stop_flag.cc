/*
 * Workers that stop on request as std::jthread's do: a shared flag and a condition variable; the destructor of the
 * pool requests the stop and joins; all queued work is done.  ISO C++ [thread.condition].
 */
#include "conform.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
    std::mutex m;
    std::condition_variable cv;
    std::deque<std::function<void()>> queue;
    bool stop = false;
    std::vector<std::thread> workers;

    void work()
    {
        for (;;) {
            std::function<void()> job;
            {
                std::unique_lock<std::mutex> l(m);
                cv.wait(l, [this] { return stop || !queue.empty(); });
                if (queue.empty())
                    return;
                job = std::move(queue.front());
                queue.pop_front();
            }
            job();
        }
    }

public:
    explicit Pool(int n)
    {
        for (int i = 0; i < n; i++)
            workers.emplace_back([this] { work(); });
    }
    ~Pool()
    {
        {
            std::lock_guard<std::mutex> l(m);
            stop = true;
        }
        cv.notify_all();
        for (auto &w : workers)
            w.join();
    }
    void run(std::function<void()> f)
    {
        {
            std::lock_guard<std::mutex> l(m);
            queue.push_back(std::move(f));
        }
        cv.notify_one();
    }
};

int
main()
{
    std::atomic<long> sum{ 0 }, nested{ 0 };

    for (int round = 0; round < 5; round++) {
        Pool pool(12);
        for (int i = 0; i < 500; i++)
            pool.run([&, i] {
                sum += i;
                if (i % 100 == 0)
                    pool.run([&] {
                        std::this_thread::yield();
                        nested++;
                    });
            });
    }
    printf("sum %ld, nested %ld\n", sum.load(), nested.load());
    return conform_status();
}
