/*
 * std::call_once: one of many racers runs the function; when it throws, the caller gets the exception and the next
 * racer tries.  Local statics are initialised once.  ISO C++ [thread.once].
 */
#include "conform.h"
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::atomic<int> attempts, statics, caught, complete;

struct Slow {
    int value;

    Slow() : value(5)
    {
        msleep(2);
        statics++;
    }
};

static Slow &
instance()
{
    static Slow s;

    return s;
}

int
main()
{
    std::once_flag flag;
    std::vector<std::thread> threads;
    int value = 0;

    for (int i = 0; i < 20; i++)
        threads.emplace_back([&] {
            try {
                std::call_once(flag, [&] {
                    if (++attempts <= 3)
                        throw std::runtime_error("not yet");
                    sched_yield();
                    value = 42;
                });
                complete += value == 42;
            } catch (const std::runtime_error &) {
                caught++;
            }
            complete += instance().value == 5;
        });
    for (auto &t : threads)
        t.join();
    printf("attempts %d, caught %d, complete %d, statics %d\n", attempts.load(), caught.load(), complete.load(),
           statics.load());
    return conform_status();
}
