/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pairs of threads of which one hands something to the other. A single thread does the work of both; one
 * that is left over does nothing.
 */
#include "examples/meetings/meeting.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { SLOTS = 1024, QUEUED_MOST = 64, PAIRS_MAX = KERNEL_THREADS_MAX / 2 };

/*
 * Conditions and lock lie as a compiler lays them out one after the other: each condition in two lines, of
 * which the second is also that of the next one's first half or of the lock.
 */
struct pair {
	_Alignas(MEETING_APART) uint64_t sum; /* of what was taken, in the end */
	_Alignas(KERNEL_LINE) struct kernel_part items;
	_Alignas(KERNEL_LINE / 2) pthread_cond_t has_room;
	_Alignas(KERNEL_LINE / 2) pthread_cond_t has_items;
	_Alignas(KERNEL_LINE / 2) pthread_mutex_t lock;
	_Alignas(MEETING_APART) _Atomic uint64_t put; /* how many were */
	_Alignas(MEETING_APART) _Atomic uint64_t taken;
	_Alignas(MEETING_APART) uint64_t slots[SLOTS];
	_Alignas(MEETING_APART) sem_t first_may;
	_Alignas(MEETING_APART) sem_t second_may;
};

struct shared {
	int count;
	struct pair pairs[PAIRS_MAX];
};

typedef void role(struct pair *p);

static void act(const struct kernel *kernel, int thread, struct shared *s, role *both, role *first,
	role *second)
{
	struct pair *p = &s->pairs[thread / 2];
	if (kernel->threads == 1)
		both(p);
	else if (thread / 2 < s->count)
		(thread % 2 == 0 ? first : second)(p);
}

static void ring_both(struct pair *p)
{
	struct kernel_part items = p->items;
	uint64_t sum = 0;
	for (size_t i = items.begin; i < items.end; i++) {
		p->slots[i % SLOTS] = meeting_work(i, 20);
		sum += meeting_work(p->slots[i % SLOTS], 20);
	}
	p->sum = sum;
}

static void ring_put(struct pair *p)
{
	struct kernel_part items = p->items;
	size_t count = items.end - items.begin;
	for (size_t i = 0; i < count; i++) {
		uint64_t value = meeting_work(items.begin + i, 20);
		while (i - atomic_load(&p->taken) >= SLOTS)
			meeting_pause();
		p->slots[i % SLOTS] = value;
		atomic_store(&p->put, i + 1);
	}
}

static void ring_take(struct pair *p)
{
	size_t count = p->items.end - p->items.begin;
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		while (atomic_load(&p->put) <= i)
			meeting_pause();
		sum += meeting_work(p->slots[i % SLOTS], 20);
		atomic_store(&p->taken, i + 1);
	}
	p->sum = sum;
}

static void polled_ring(const struct kernel *kernel, int thread, void *data)
{
	act(kernel, thread, data, ring_both, ring_put, ring_take);
}

static void queue_both(struct pair *p)
{
	struct kernel_part items = p->items;
	uint64_t sum = 0;
	for (size_t i = items.begin; i < items.end; i++)
		sum += meeting_work(meeting_work(i, 200), 200);
	p->sum = sum;
}

static void queue_put(struct pair *p)
{
	struct kernel_part items = p->items;
	for (size_t i = items.begin; i < items.end; i++) {
		uint64_t value = meeting_work(i, 200);
		(void)pthread_mutex_lock(&p->lock); /* as all of these, cannot fail */
		while (p->put - p->taken >= QUEUED_MOST)
			(void)pthread_cond_wait(&p->has_room, &p->lock);
		p->slots[p->put++ % SLOTS] = value;
		(void)pthread_cond_signal(&p->has_items);
		(void)pthread_mutex_unlock(&p->lock);
	}
}

static void queue_take(struct pair *p)
{
	size_t count = p->items.end - p->items.begin;
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		(void)pthread_mutex_lock(&p->lock);
		while (p->put == p->taken)
			(void)pthread_cond_wait(&p->has_items, &p->lock);
		uint64_t value = p->slots[p->taken++ % SLOTS];
		(void)pthread_cond_signal(&p->has_room);
		(void)pthread_mutex_unlock(&p->lock);
		sum += meeting_work(value, 200);
	}
	p->sum = sum;
}

static void bounded_queue(const struct kernel *kernel, int thread, void *data)
{
	act(kernel, thread, data, queue_both, queue_put, queue_take);
}

static void turns_both(struct pair *p)
{
	size_t count = p->items.end - p->items.begin;
	uint64_t x = 1;
	for (size_t i = 0; i < count; i++)
		x = meeting_work(x, 400);
	meeting_keep(x);
}

static void turns_first(struct pair *p)
{
	size_t count = p->items.end - p->items.begin;
	uint64_t x = 1;
	for (size_t i = 0; i < count; i++) {
		x = meeting_work(x, 200);
		(void)sem_post(&p->second_may); /* never near the most that it can count to */
		(void)sem_wait(&p->first_may); /* no signal handler here */
	}
	meeting_keep(x);
}

static void turns_second(struct pair *p)
{
	size_t count = p->items.end - p->items.begin;
	uint64_t x = 2;
	for (size_t i = 0; i < count; i++) {
		(void)sem_wait(&p->second_may);
		x = meeting_work(x, 200);
		(void)sem_post(&p->first_may);
	}
	meeting_keep(x);
}

static void semaphores(const struct kernel *kernel, int thread, void *data)
{
	act(kernel, thread, data, turns_both, turns_first, turns_second);
}

static const struct meeting meetings[] = {
	{ "polled_ring", polled_ring, 20000000,
		"Looks at a ring until there is something (threads)." },
	{ "bounded_queue", bounded_queue, 2000000, "A queue of 64 with two conditions (threads)." },
	{ "semaphores", semaphores, 300000, "Works by turns, with two semaphores (threads)." },
	{ 0 },
};

static void pair_init(struct pair *p, size_t begin, size_t end)
{
	p->items = (struct kernel_part){ begin, end };
	(void)pthread_cond_init(&p->has_room, NULL); /* these cannot fail on Linux */
	(void)pthread_cond_init(&p->has_items, NULL);
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)sem_init(&p->first_may, 0, 0);
	(void)sem_init(&p->second_may, 0, 0);
}

int main(int argc, char **argv)
{
	static struct shared s;
	const struct meeting *meeting = meeting_find(meetings, MEETING);
	struct kernel kernel = kernel_start(argc, argv, meeting->summary);
	size_t rounds = kernel_scaled(&kernel, meeting->rounds);
	s.count = kernel.threads > 1 ? kernel.threads / 2 : 1;
	for (int i = 0; i < s.count; i++)
		pair_init(&s.pairs[i], rounds * (size_t)i / (size_t)s.count,
			rounds * (size_t)(i + 1) / (size_t)s.count);
	meeting_run(&kernel, meeting, &s);
	uint64_t sum = 0;
	for (int i = 0; i < s.count; i++)
		sum += s.pairs[i].sum;
	return meeting_finish(&kernel, rounds, sum, 0);
}
