// SPDX-License-Identifier: GPL-3.0-or-later
// Two threads take turns at C++ mutexes: a global's in a namespace, an array's, a class's static one,
// one on main's stack and one on the heap.
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <thread>

namespace pool
{
struct store {
	int size = 0;
	std::mutex guard;
	static std::mutex shared;
};
std::mutex store::shared;
store instance;
std::array<store, 3> shards;

template <typename lockable> __attribute__((noinline)) void hold(lockable &mutex)
{
	std::lock_guard<lockable> held(mutex);
	std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

class worker
{
	pthread_barrier_t &together;

      public:
	explicit worker(pthread_barrier_t &barrier) : together(barrier)
	{
	}
	__attribute__((noinline)) void run(std::mutex **mutexes, int count)
	{
		for (int i = 0; i < count; i++)
			for (int turn = 0; turn < 3; turn++) {
				pthread_barrier_wait(&together);
				hold(*mutexes[i]);
			}
	}
};
} // namespace pool

int main()
{
	std::mutex local;
	auto heap = std::make_unique<pool::store>();
	pthread_barrier_t together;
	pthread_barrier_init(&together, nullptr, 2);
	std::mutex *mutexes[] = { &pool::instance.guard, &pool::shards[2].guard,
		&pool::store::shared, &local, &heap->guard };
	auto body = [&] { pool::worker(together).run(mutexes, 5); };
	std::thread a(body), b(body);
	a.join();
	b.join();
	std::puts("done");
	return 0;
}
