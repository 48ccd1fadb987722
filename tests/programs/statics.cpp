// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * statics END: C++ objects that lock, and whose threads wait, before main(), after it, and at the end of each
 * thread. END is how it ends: return, exit (by another thread), quick, threads (main ends first), abort, _exit.
 */
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <unistd.h>

static void say(const char *what)
{
	std::printf("%s\n", what);
	std::fflush(stdout);
}

/* A thread that waits from before main() until after it. */
struct worker {
	std::mutex mutex;
	std::condition_variable changed;
	int asked = 0, done = 0;
	bool ends = false;
	std::thread thread;

	worker() : thread([this] { run(); })
	{
		ask();
		say("constructed");
	}

	~worker()
	{
		ask();
		{
			std::lock_guard<std::mutex> guard(mutex);
			ends = true;
		}
		changed.notify_all();
		thread.join();
		std::printf("destroyed after %d\n", done);
		std::fflush(stdout);
	}

	void run()
	{
		std::unique_lock<std::mutex> guard(mutex);
		for (;;) {
			changed.wait(guard, [this] { return ends || done < asked; });
			if (done == asked)
				return;
			done++;
			changed.notify_all();
		}
	}

	void ask()
	{
		std::unique_lock<std::mutex> guard(mutex);
		asked++;
		changed.notify_all();
		changed.wait(guard, [this] { return done == asked; });
	}
};

static worker early;
static std::shared_mutex shared;
static int ended_threads;

/* Destroyed when its thread ends. */
struct last_words {
	~last_words()
	{
		std::unique_lock<std::shared_mutex> guard(shared);
		ended_threads++;
	}
};

static thread_local last_words words;

static void use_words()
{
	std::shared_lock<std::shared_mutex> guard(shared);
	(void)&words;
}

static void at_exit()
{
	early.ask();
	say("atexit");
}

static void test_threads()
{
	std::once_flag once;
	int calls = 0;
	{
		auto first = std::async(std::launch::async, [&] {
			use_words();
			std::call_once(once, [&] { calls++; });
			return 1;
		});
		auto second = std::async(std::launch::async, [&] {
			use_words();
			std::call_once(once, [&] { calls++; });
			return 2;
		});
		std::printf("sum %d\n", first.get() + second.get());
	}
	std::shared_lock<std::shared_mutex> guard(shared);
	std::printf("calls %d, ended %d\n", calls, ended_threads);
}

static void *end_process(void *)
{
	early.ask();
	std::exit(9);
}

int main(int argc, char **argv)
{
	const char *end = argc > 1 ? argv[1] : "return";
	std::atexit(at_exit);
	std::at_quick_exit([] { say("at_quick_exit"); });
	early.ask();
	test_threads();
	say(end);
	if (std::strcmp(end, "exit") == 0) {
		std::thread other(end_process, nullptr);
		other.join(); /* never */
	} else if (std::strcmp(end, "quick") == 0) {
		std::quick_exit(10);
	} else if (std::strcmp(end, "threads") == 0) {
		std::thread([] {
			early.ask();
			say("another thread");
			std::exit(13);
		}).detach();
		pthread_exit(nullptr);
	} else if (std::strcmp(end, "abort") == 0) {
		std::abort();
	} else if (std::strcmp(end, "_exit") == 0) {
		_exit(11);
	}
	return 12;
}
