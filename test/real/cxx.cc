// The C++ library's threads: thread, async, condition_variable, shared_mutex, atomics that wait, latch, barrier,
// stop tokens, thread_local destructors, exceptions that cross threads. Prints results which do not depend on timing.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

std::atomic<int> destroyed{0};

struct Local {
	std::vector<int> v;
	~Local() { destroyed += static_cast<int>(v.size()); }
};
thread_local Local local;

void threads()
{
	std::mutex m;
	long total = 0;
	std::vector<std::thread> ts;
	for (int i = 0; i < 100; i++)
		ts.emplace_back([&, i] {
			for (int k = 0; k < 200; k++) {
				std::lock_guard<std::mutex> hold(m);
				total += i;
			}
			local.v.assign(7, i);
		});
	for (auto &t : ts)
		t.join();
	std::printf("threads %ld, destroyed %d\n", total, destroyed.load());
}

void conditions()
{
	std::mutex m;
	std::condition_variable put, got;
	std::deque<int> q;
	long sum = 0;
	std::vector<std::thread> ts;
	for (int c = 0; c < 4; c++)
		ts.emplace_back([&] {
			for (;;) {
				std::unique_lock<std::mutex> hold(m);
				put.wait(hold, [&] { return !q.empty(); });
				int x = q.front();
				q.pop_front();
				got.notify_one();
				if (x < 0)
					return;
				sum += x;
			}
		});
	for (int i = 0; i < 20004; i++) {
		std::unique_lock<std::mutex> hold(m);
		got.wait(hold, [&] { return q.size() < 8; });
		q.push_back(i < 20000 ? i : -1);
		put.notify_one();
	}
	for (auto &t : ts)
		t.join();
	std::unique_lock<std::mutex> hold(m);
	bool timed = put.wait_for(hold, 20ms) == std::cv_status::timeout;
	std::condition_variable_any any;
	bool anytimed = !any.wait_for(hold, 5ms, [] { return false; });
	std::printf("conditions %ld, timeouts %d %d\n", sum, timed, anytimed);
}

int fib(int n)
{
	if (n < 8)
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	auto left = std::async(std::launch::async, fib, n - 1);
	return fib(n - 2) + left.get();
}

void futures()
{
	auto thrower = std::async(std::launch::async, []() -> int {
		try {
			throw std::runtime_error("inside");
		} catch (...) {
			std::this_thread::sleep_for(10ms);	// parks while an exception is being handled
			throw;
		}
	});
	std::string what;
	try {
		thrower.get();
	} catch (const std::runtime_error &e) {
		what = e.what();
	}
	std::promise<int> p;
	auto f = p.get_future().share();
	std::vector<std::future<int>> sums;
	for (int i = 0; i < 10; i++)
		sums.push_back(std::async(std::launch::async, [f, i] { return f.get() + i; }));
	bool notyet = f.wait_for(5ms) == std::future_status::timeout;
	p.set_value(100);
	int sum = 0;
	for (auto &s : sums)
		sum += s.get();
	std::packaged_task<int(int)> task([](int x) { return x * x; });
	auto squared = task.get_future();
	std::thread(std::move(task), 12).detach();
	std::printf("futures %d, %s, %d, %d, %d\n", fib(16), what.c_str(), notyet, sum, squared.get());
}

void locks()
{
	std::shared_mutex rw;
	std::recursive_timed_mutex rec;
	std::once_flag once;
	std::atomic<int> called{0}, wrong{0};
	int a = 0, b = 0;
	std::vector<std::thread> ts;
	for (int i = 0; i < 16; i++)
		ts.emplace_back([&, i] {
			std::call_once(once, [&] { std::this_thread::sleep_for(5ms); called++; });
			if (called != 1)
				wrong++;
			for (int k = 0; k < 300; k++)
				if (i % 4 == 0) {
					std::unique_lock<std::shared_mutex> w(rw);
					a++;
					std::this_thread::yield();
					b++;
				} else {
					std::shared_lock<std::shared_mutex> r(rw);
					if (a != b)
						wrong++;
				}
			std::lock_guard<std::recursive_timed_mutex> one(rec), two(rec);
		});
	for (auto &t : ts)
		t.join();
	rec.lock();
	bool busy = !std::async(std::launch::async, [&] { return rec.try_lock_for(10ms); }).get();
	rec.unlock();
	std::printf("locks %d %d, wrong %d, once %d, busy %d\n", a, b, wrong.load(), called.load(), busy);
}

void waiting()	// C++20: these go to the futex system call through syscall(), not through pthread
{
	std::atomic<int> turn{0};
	std::thread ping([&] {
		for (int i = 0; i < 2000; i += 2) {
			turn.wait(i + 1);
			for (int now; (now = turn) != i;)
				turn.wait(now);
			turn = i + 1;
			turn.notify_all();
		}
	});
	for (int i = 1; i <= 1999; i += 2) {
		for (int now; (now = turn) != i;)
			turn.wait(now);
		turn = i + 1;
		turn.notify_all();
	}
	ping.join();

	std::latch ready(8);
	std::counting_semaphore<4> slots(4);
	std::atomic<int> inside{0}, over{0}, phases{0};
	std::barrier sync(8, [&]() noexcept { phases++; });
	std::vector<std::jthread> ts;
	for (int i = 0; i < 8; i++)
		ts.emplace_back([&] {
			ready.arrive_and_wait();
			for (int k = 0; k < 50; k++) {
				slots.acquire();
				if (++inside > 4)
					over++;
				std::this_thread::yield();
				--inside;
				slots.release();
				sync.arrive_and_wait();
			}
		});
	ts.clear();
	bool empty = !std::binary_semaphore(0).try_acquire_for(10ms);
	std::mutex m;
	std::condition_variable_any cv;
	bool stopped = false;
	{
		std::jthread t([&](std::stop_token st) {
			std::unique_lock<std::mutex> hold(m);
			cv.wait(hold, st, [] { return false; });
			stopped = st.stop_requested();
		});
		std::this_thread::sleep_for(10ms);
	}
	std::printf("waiting %d, over %d, phases %d, empty %d, stopped %d\n", turn.load(), over.load(), phases.load(), empty, stopped);
}

void ids()
{
	std::vector<std::thread::id> seen(50);
	std::vector<std::thread> ts;
	std::latch all(50);
	for (auto &s : seen)
		ts.emplace_back([&] { s = std::this_thread::get_id(); all.arrive_and_wait(); });
	bool match = true;
	for (size_t i = 0; i < ts.size(); i++) {
		auto id = ts[i].get_id();
		ts[i].join();
		match = match && seen[i] == id;
	}
	std::sort(seen.begin(), seen.end());
	bool unique = std::adjacent_find(seen.begin(), seen.end()) == seen.end();
	std::printf("ids %d %d\n", match, unique);
}

}

int main()
{
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	threads();
	conditions();
	futures();
	locks();
	waiting();
	ids();
	return 0;
}
