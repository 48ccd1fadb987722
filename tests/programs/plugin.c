/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library that loaded.c loads and unloads again. Its constructor and destructor lock; its threads wait for a
 * lock that is part of it. -DPLUGIN_LOCK=NAME is how that lock is called.
 */
#include "hold.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

pthread_mutex_t PLUGIN_LOCK = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static atomic_int tid;

static void lock_once(void)
{
	check(pthread_mutex_lock(&PLUGIN_LOCK) == 0, "lock");
	check(pthread_mutex_unlock(&PLUGIN_LOCK) == 0, "unlock");
}

static void destroy(void *unused)
{
	(void)unused;
	lock_once();
}

__attribute__((constructor)) static void load(void)
{
	lock_once();
	check(pthread_key_create(&key, destroy) == 0, "key_create");
}

__attribute__((destructor)) static void unload(void)
{
	lock_once();
	check(pthread_key_delete(key) == 0, "key_delete");
}

static void *wait_for_lock(void *unused)
{
	pthread_setspecific(key, &key);
	atomic_store(&tid, (int)syscall(SYS_gettid));
	lock_once();
	return unused;
}

int plugin_run(void);

/* A thread of the library waits for its lock. */
__attribute__((visibility("default"))) int plugin_run(void)
{
	pthread_t thread;
	atomic_store(&tid, 0);
	check(pthread_mutex_lock(&PLUGIN_LOCK) == 0, "lock");
	check(pthread_create(&thread, NULL, wait_for_lock, NULL) == 0, "create");
	while (atomic_load(&tid) == 0)
		sleep_ms(1);
	hold_asleep(atomic_load(&tid));
	check(pthread_mutex_unlock(&PLUGIN_LOCK) == 0, "unlock");
	return pthread_join(thread, NULL);
}
