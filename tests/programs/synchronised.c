/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads that use each kind of synchronisation of POSIX threads, known numbers of times. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>

enum { ROUNDS = 20, LOCKS = 50, TURNS = 10, YIELDS = 30 };

static struct {
	pthread_mutex_t mutex, turn_mutex;
	pthread_rwlock_t rwlock;
	pthread_spinlock_t spin;
	pthread_barrier_t barrier;
	pthread_cond_t turn_changed;
	sem_t ready[2];
	unsigned turn;
	volatile uint64_t sum;
} shared = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.turn_mutex = PTHREAD_MUTEX_INITIALIZER,
	.rwlock = PTHREAD_RWLOCK_INITIALIZER,
	.turn_changed = PTHREAD_COND_INITIALIZER,
};

static void compute(void)
{
	for (int i = 0; i < 2000; i++)
		shared.sum += (uint64_t)i;
}

static void lock(void)
{
	for (int i = 0; i < LOCKS; i++) {
		pthread_mutex_lock(&shared.mutex);
		compute();
		pthread_mutex_unlock(&shared.mutex);
		pthread_rwlock_rdlock(&shared.rwlock);
		pthread_rwlock_unlock(&shared.rwlock);
		pthread_rwlock_wrlock(&shared.rwlock);
		pthread_rwlock_unlock(&shared.rwlock);
		pthread_spin_lock(&shared.spin);
		pthread_spin_unlock(&shared.spin);
	}
}

/* One after the other. */
static void take_turns(unsigned number)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&shared.turn_mutex);
		while (shared.turn % 2 != number)
			pthread_cond_wait(&shared.turn_changed, &shared.turn_mutex);
		shared.turn++;
		compute();
		pthread_cond_signal(&shared.turn_changed);
		pthread_mutex_unlock(&shared.turn_mutex);
	}
}

static void *work(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;
	for (int i = 0; i < ROUNDS; i++) {
		compute();
		pthread_barrier_wait(&shared.barrier);
	}
	for (int i = 0; i < YIELDS; i++) {
		compute();
		sched_yield();
	}
	lock();
	take_turns(number);
	for (int i = 0; i < TURNS; i++) {
		sem_post(&shared.ready[!number]);
		sem_wait(&shared.ready[number]);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	pthread_spin_init(&shared.spin, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&shared.barrier, NULL, 2);
	for (uintptr_t i = 0; i < 2; i++)
		sem_init(&shared.ready[i], 0, 0);
	for (uintptr_t i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%u turns\n", shared.turn);
	return 0;
}
