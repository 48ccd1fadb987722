/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One lock, under which each thread adds to a sum that lies in another line. */
#include "examples/meetings/meeting.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct shared {
	size_t rounds;
	_Atomic uint64_t put; /* by all threads, once they end */
	_Alignas(MEETING_APART) pthread_mutex_t mutex;
	_Alignas(MEETING_APART) pthread_spinlock_t spin;
	_Alignas(MEETING_APART) atomic_int is_held;
	_Alignas(MEETING_APART) atomic_uint next_ticket;
	_Alignas(MEETING_APART) atomic_uint now_served;
	_Alignas(MEETING_APART) uint64_t sum;
};

static void mutex_short(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 20);
		(void)pthread_mutex_lock(&s->mutex); /* none of these locks can fail */
		s->sum += x;
		(void)pthread_mutex_unlock(&s->mutex);
		put += x;
	}
	atomic_fetch_add(&s->put, put);
}

static void mutex_tight(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	for (size_t i = 0; i < rounds; i++) {
		(void)pthread_mutex_lock(&s->mutex);
		s->sum += i;
		(void)pthread_mutex_unlock(&s->mutex);
	}
	atomic_fetch_add(&s->put, rounds > 0 ? rounds * (rounds - 1) / 2 : 0);
}

/* The sum is here a chain of all rounds, so that it tells itself whether one is lost. */
static void mutex_long(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 100);
		(void)pthread_mutex_lock(&s->mutex);
		s->sum = meeting_work(s->sum, 100);
		(void)pthread_mutex_unlock(&s->mutex);
	}
	meeting_keep(x);
}

static void trylock(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 20);
		while (pthread_mutex_trylock(&s->mutex) != 0)
			x = meeting_work(x, 5);
		uint64_t more = meeting_work(x, 5);
		s->sum += more;
		(void)pthread_mutex_unlock(&s->mutex);
		put += more;
	}
	atomic_fetch_add(&s->put, put);
}

static void spin_lock(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 20);
		(void)pthread_spin_lock(&s->spin);
		s->sum += x;
		(void)pthread_spin_unlock(&s->spin);
		put += x;
	}
	atomic_fetch_add(&s->put, put);
}

static void spin_exchange(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 20);
		while (atomic_exchange(&s->is_held, 1))
			while (atomic_load(&s->is_held))
				meeting_pause();
		s->sum += x;
		atomic_store(&s->is_held, 0);
		put += x;
	}
	atomic_fetch_add(&s->put, put);
}

static void spin_yield(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 50);
		while (atomic_exchange(&s->is_held, 1))
			(void)sched_yield(); /* cannot fail on Linux */
		uint64_t more = meeting_work(x, 10);
		s->sum += more;
		atomic_store(&s->is_held, 0);
		put += more;
	}
	atomic_fetch_add(&s->put, put);
}

static void ticket_lock(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 40);
		unsigned ticket = atomic_fetch_add(&s->next_ticket, 1);
		while (atomic_load(&s->now_served) != ticket)
			meeting_pause();
		s->sum += x;
		atomic_store(&s->now_served, ticket + 1);
		put += x;
	}
	atomic_fetch_add(&s->put, put);
}

static const struct meeting meetings[] = {
	{ "mutex_short", mutex_short, 20000000, "Adds under a mutex, after some work (threads)." },
	{ "mutex_tight", mutex_tight, 30000000, "Adds under a mutex, and nothing else (threads)." },
	{ "mutex_long", mutex_long, 4000000,
		"Works as much under a mutex as beside it (threads)." },
	{ "trylock", trylock, 20000000, "Tries a mutex until it is free (threads)." },
	{ "spin_lock", spin_lock, 30000000, "Adds under a POSIX spin lock (threads)." },
	{ "spin_exchange", spin_exchange, 30000000,
		"Adds under a spin lock of its own (threads)." },
	{ "spin_yield", spin_yield, 20000000, "Yields until a lock is free (threads)." },
	{ "ticket_lock", ticket_lock, 20000000, "Adds under a ticket lock (threads)." },
	{ 0 },
};

int main(int argc, char **argv)
{
	static struct shared s;
	const struct meeting *meeting = meeting_find(meetings, MEETING);
	struct kernel kernel = kernel_start(argc, argv, meeting->summary);
	s.rounds = kernel_scaled(&kernel, meeting->rounds);
	(void)pthread_mutex_init(&s.mutex, NULL); /* these cannot fail on Linux */
	(void)pthread_spin_init(&s.spin, PTHREAD_PROCESS_PRIVATE);
	meeting_run(&kernel, meeting, &s);
	return meeting_finish(&kernel, s.rounds, s.sum, s.put);
}
