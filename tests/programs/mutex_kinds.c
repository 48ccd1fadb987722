/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread does the same with mutexes of two kinds, of which the recorder goes another way with each; then it tries one. */
#include "hold.h"

#include <pthread.h>

enum { ROUNDS = 20000, TRIES = 300 };

static pthread_mutex_t usual = PTHREAD_MUTEX_INITIALIZER, checked;

#define LOCKER(name, mutex)                                                                        \
	static __attribute__((noinline)) void name(void)                                           \
	{                                                                                          \
		for (volatile int i = 0; i < ROUNDS; i++) {                                        \
			(void)pthread_mutex_lock(&(mutex)); /* cannot fail */                      \
			(void)pthread_mutex_unlock(&(mutex));                                      \
		}                                                                                  \
	}
LOCKER(lock_usual, usual)
LOCKER(lock_checked, checked)

static void *lock(void *unused)
{
	lock_usual();
	lock_checked();
	for (int i = 0; i < TRIES; i++) {
		check(pthread_mutex_trylock(&usual) == 0, "trylock");
		(void)pthread_mutex_unlock(&usual); /* cannot fail */
	}
	return unused;
}

int main(void)
{
	pthread_mutexattr_t kind;
	pthread_t thread;
	check(pthread_mutexattr_init(&kind) == 0, "mutexattr_init");
	check(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK) == 0, "settype");
	check(pthread_mutex_init(&checked, &kind) == 0, "mutex_init");
	check(pthread_create(&thread, NULL, lock, NULL) == 0, "create");
	check(pthread_join(thread, NULL) == 0, "join");
	return 0;
}
