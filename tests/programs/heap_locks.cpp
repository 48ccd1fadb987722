// SPDX-License-Identifier: GPL-3.0-or-later
// Two threads take locks of C++ that are members of objects on the heap.
#include <chrono>
#include <condition_variable>
#include <future>
#include <cstdio>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <queue>
#include <shared_mutex>
#include <thread>

namespace bank
{
using namespace std::chrono_literals;
constexpr auto late = 20ms;

class account
{
	int balance = 0;
	std::mutex guard;

      public:
	__attribute__((noinline)) void add(int amount)
	{
		std::lock_guard<std::mutex> held(guard);
		balance += amount;
		std::this_thread::sleep_for(2ms);
	}
};

template <typename item> class line
{
	std::queue<item> items;
	std::mutex mutex;
	std::condition_variable arrived;

      public:
	__attribute__((noinline)) void push(item what)
	{
		std::unique_lock<std::mutex> held(mutex);
		std::this_thread::sleep_for(2ms);
		items.push(what);
		arrived.notify_one();
	}
	__attribute__((noinline)) item pop()
	{
		std::unique_lock<std::mutex> held(mutex);
		arrived.wait(held, [this] { return !items.empty(); });
		item front = items.front();
		items.pop();
		std::this_thread::sleep_for(2ms);
		return front;
	}
};

struct branch {
	long rate = 0;
	std::shared_timed_mutex rates;
	__attribute__((noinline)) void change(long by)
	{
		std::unique_lock<std::shared_timed_mutex> held(rates);
		rate += by;
		std::this_thread::sleep_for(2ms);
	}
};
} // namespace bank

int main()
{
	auto account = std::make_unique<bank::account>();
	auto line = std::make_shared<bank::line<int>>();
	auto branch = std::make_unique<bank::branch>();
	pthread_barrier_t together;
	pthread_barrier_init(&together, nullptr, 2);
	std::promise<int> decision;
	std::shared_future<int> decided = decision.get_future().share();
	auto visit = [&, line, decided](bool is_clerk) {
		for (int i = 0; i < 3; i++) {
			pthread_barrier_wait(&together);
			account->add(i);
			pthread_barrier_wait(&together);
			branch->change(i);
			pthread_barrier_wait(&together);
			line->push(i);
			line->pop();
		}
		pthread_barrier_wait(&together);
		if (is_clerk) {
			line->pop(); /* of nothing */
			decided.get();
		} else {
			std::this_thread::sleep_for(bank::late);
			line->push(0);
			std::this_thread::sleep_for(bank::late);
			decision.set_value(1);
			std::this_thread::sleep_for(bank::late);
		}
	};
	std::thread customer(visit, false), clerk(visit, true);
	customer.join();
	clerk.join();
	std::puts("done");
	return 0;
}
