/*
 * std::this_thread::sleep_for and sleep_until on both clocks: never early, in main and in twenty threads.
 * ISO C++ [thread.thread.this].
 */
#include "conform.h"
#include <chrono>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

template <class C> static int
early(std::chrono::milliseconds d)
{
    auto end = C::now() + d;

    std::this_thread::sleep_until(end);
    int bad = C::now() < end;
    end = C::now() + d;
    std::this_thread::sleep_for(d);
    return bad + (std::is_same<C, std::chrono::steady_clock>::value && C::now() < end);
}

int
main()
{
    std::vector<std::thread> threads;
    int bad[20] = {}, sum = 0;

    sum += early<std::chrono::steady_clock>(5ms) + early<std::chrono::system_clock>(5ms);
    sum += early<std::chrono::steady_clock>(-5ms);
    for (int i = 0; i < 20; i++)
        threads.emplace_back([&bad, i] {
            bad[i] = early<std::chrono::steady_clock>(std::chrono::milliseconds(i))
                   + early<std::chrono::system_clock>(std::chrono::milliseconds(20 - i));
        });
    for (auto &t : threads)
        t.join();
    for (int b : bad)
        sum += b;
    printf("early %d\n", sum);
    return conform_status();
}
