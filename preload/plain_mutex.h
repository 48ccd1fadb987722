/* SPDX-License-Identifier: MIT */
/*
 * A mutex of the usual kind, taken and given back without a call: where nothing is recorded the call would be most
 * of the cost. What is done to the mutex is what glibc does (nptl/pthread_mutex_trylock.c, pthread_mutex_unlock.c,
 * lowlevellock.h, alike since 2.3):
 *
 *	__lock	0 free, 1 taken, 2 taken and awaited by threads that sleep
 *
 * plain_mutex_is_known() looks whether the C library here does that, too.
 */
#ifndef PRELOAD_PLAIN_MUTEX_H
#define PRELOAD_PLAIN_MUTEX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	PLAIN_MUTEX_FREE,
	PLAIN_MUTEX_TAKEN,
	PLAIN_MUTEX_AWAITED,
};

/* False, too, where another library than the C library stands behind this one, and is to see each lock. */
bool plain_mutex_is_known(void);

static inline bool plain_mutex_is(const pthread_mutex_t *mutex)
{
	return mutex->__data.__kind == PTHREAD_MUTEX_TIMED_NP;
}

/* It is about to be taken: a look at its kind alone would bring it from another core to read, and again to write. */
static inline void plain_mutex_fetch(const pthread_mutex_t *mutex)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0"
			 :
			 : "m"(*mutex)); /* does nothing where there is no such instruction */
#else
	__builtin_prefetch(mutex, 1);
#endif
}

/* False: it is not free. tid: the calling thread's. */
static inline bool plain_mutex_take(pthread_mutex_t *mutex, uint32_t tid)
{
	int expected = PLAIN_MUTEX_FREE;
	if (!__atomic_compare_exchange_n(&mutex->__data.__lock, &expected, PLAIN_MUTEX_TAKEN, false,
		    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	mutex->__data.__owner = (int)tid;
	mutex->__data.__nusers++;
	return true;
}

/* False: somebody waits for it; it is still taken, and the C library is to wake who waits. */
static inline bool plain_mutex_give(pthread_mutex_t *mutex)
{
	int expected = PLAIN_MUTEX_TAKEN, owner = mutex->__data.__owner;
	mutex->__data.__owner = 0;
	mutex->__data.__nusers--;
	if (__builtin_expect(__atomic_compare_exchange_n(&mutex->__data.__lock, &expected,
				     PLAIN_MUTEX_FREE, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED),
		    1))
		return true;
	mutex->__data.__owner = owner;
	mutex->__data.__nusers++;
	return false;
}

#endif
