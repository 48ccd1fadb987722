/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted, with the threads of C++: one producer, who works on an item for 8 times as long as one of
 * the THREADS - 1 consumers. Fixed: the same work, split so that all threads have as much.
 */
#include "plant.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr int items = 1600;
constexpr double produce_us = 200, consume_us = 25;

class channel
{
      public:
	void put(uint64_t item)
	{
		std::lock_guard<std::mutex> guard(lock);
		waiting.push_back(item);
		has_item.notify_one();
	}
	void close()
	{
		std::lock_guard<std::mutex> guard(lock);
		is_closed = true;
		has_item.notify_all();
	}
	/* Nothing once it is closed and empty. */
	std::optional<uint64_t> get()
	{
		std::unique_lock<std::mutex> guard(lock);
		has_item.wait(guard, [this] { return is_closed || !waiting.empty(); });
		if (waiting.empty())
			return std::nullopt;
		uint64_t item = waiting.front();
		waiting.pop_front();
		return item;
	}

      private:
	std::mutex lock;
	std::condition_variable has_item;
	std::deque<uint64_t> waiting;
	bool is_closed = false;
};

void produce(const plant &plant, channel &out)
{
	const char *name = "producer";
	(void)pthread_setname_np(pthread_self(), name); /* runs as well without */
	double us = plant.is_fixed ? (produce_us + consume_us) / plant.threads : produce_us;
	int count = plant_count(&plant, items);
	for (int i = 0; i < count; i++) {
		(void)plant_work(&plant, name, (uint64_t)i, us); /* consumers count it */
		out.put((uint64_t)i);
	}
	out.close();
}

void consume(const plant &plant, channel &in, int index, uint64_t &ret_sum)
{
	std::string name = "consumer-" + std::to_string(index);
	(void)pthread_setname_np(pthread_self(), name.c_str()); /* as above */
	double fixed_us = (produce_us + consume_us) * (plant.threads - 1) / plant.threads;
	double us = plant.is_fixed ? fixed_us : consume_us;
	uint64_t sum = 0;
	while (std::optional<uint64_t> item = in.get())
		sum += plant_work(&plant, name.c_str(), *item, us);
	ret_sum = sum;
}

} /* namespace */

int main(int argc, char **argv)
{
	plant plant = plant_begin(argc, argv,
		"A C++ producer who works 8 times as long on an item as its consumers.");
	channel channel;
	std::vector<uint64_t> sums((size_t)plant.threads);
	std::vector<std::thread> threads;
	threads.emplace_back([&] { produce(plant, channel); });
	for (int i = 1; i < plant.threads; i++)
		threads.emplace_back([&, i] { consume(plant, channel, i - 1, sums[(size_t)i]); });
	for (std::thread &thread : threads)
		thread.join();
	uint64_t sum = 0;
	for (uint64_t part : sums)
		sum += part;
	return plant_end(&plant, sum);
}
