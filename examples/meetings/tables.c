/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One table, under one lock for many readers, or under many locks that lie side by side. */
#include "examples/meetings/meeting.h"

#include <pthread.h>
#include <stdatomic.h>

enum { STRIPES = 64, CELLS = 65536, READ_CELLS = 1024, WRITE_EVERY = 1000 };

struct shared {
	size_t rounds;
	_Atomic uint64_t put; /* by all threads, once they end */
	_Alignas(MEETING_APART) pthread_rwlock_t lock;
	_Alignas(MEETING_APART) pthread_mutex_t stripes[STRIPES];
	_Alignas(MEETING_APART) uint64_t table[CELLS];
};

static void read_mostly(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		(void)pthread_rwlock_rdlock(&s->lock); /* fails only with too many readers */
		x += s->table[meeting_mix(x + i) % READ_CELLS];
		(void)pthread_rwlock_unlock(&s->lock);
		x = meeting_work(x, 10);
		if (i % WRITE_EVERY == 0) {
			(void)pthread_rwlock_wrlock(&s->lock);
			s->table[i % READ_CELLS]++;
			(void)pthread_rwlock_unlock(&s->lock);
			put++;
		}
	}
	meeting_keep(x);
	atomic_fetch_add(&s->put, put);
}

static void striped_locks(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_mix(x + i);
		size_t cell = (x >> 8) % CELLS;
		(void)pthread_mutex_lock(&s->stripes[cell % STRIPES]);
		s->table[cell] += x;
		(void)pthread_mutex_unlock(&s->stripes[cell % STRIPES]);
		put += x;
	}
	atomic_fetch_add(&s->put, put);
}

static const struct meeting meetings[] = {
	{ "read_mostly", read_mostly, 30000000, "Reads, and seldom writes, a table (threads)." },
	{ "striped_locks", striped_locks, 50000000, "Adds to a table under 64 mutexes (threads)." },
	{ 0 },
};

int main(int argc, char **argv)
{
	static struct shared s;
	const struct meeting *meeting = meeting_find(meetings, MEETING);
	struct kernel kernel = kernel_start(argc, argv, meeting->summary);
	s.rounds = kernel_scaled(&kernel, meeting->rounds);
	(void)pthread_rwlock_init(&s.lock, NULL); /* these cannot fail on Linux */
	for (size_t i = 0; i < STRIPES; i++)
		(void)pthread_mutex_init(&s.stripes[i], NULL);
	meeting_run(&kernel, meeting, &s);
	uint64_t sum = 0;
	for (size_t i = 0; i < CELLS; i++)
		sum += s.table[i];
	return meeting_finish(&kernel, s.rounds, sum, s.put);
}
