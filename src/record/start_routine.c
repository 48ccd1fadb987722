/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/start_routine.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	LIBRARYS_WORDS =
		512, /* what the C library keeps of a thread is no more: 2304 bytes in 2.36 */
	/* Of libstdc++'s std::thread::_State, see preload/routines.c. */
	RUN_SLOT = 2,
	STATE_WORDS = 9,
	PAGE_BYTES = 4096,
};

static size_t read_words(uint32_t pid, uint64_t from, uint64_t *ret, size_t count)
{
	uint64_t room =
		(PAGE_BYTES - from % PAGE_BYTES) / sizeof *ret; /* the next page may not be there */
	struct iovec local = { ret, (count < room ? count : room) * sizeof *ret };
	struct iovec remote = { (void *)(uintptr_t)from,
		local.iov_len }; /* NOLINT(performance-no-int-to-ptr) */
	ssize_t got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);
	return got > 0 ? (size_t)got / sizeof *ret : 0;
}

/* The C library's own, whatever a sanitizer has put before them: a routine of theirs would be found instead. */
struct threads {
	int (*create)(pthread_t *ret, const pthread_attr_t *, void *(*routine)(void *), void *);
	int (*join)(pthread_t, void **);
	void *(*wait)(void *); /* sem_wait() */
};

static bool find_threads(struct threads *ret)
{
	void *library = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
	if (!library)
		return false;
	*(void **)&ret->create = dlsym(library, "pthread_create");
	*(void **)&ret->join = dlsym(library, "pthread_join");
	*(void **)&ret->wait = dlsym(library, "sem_wait");
	(void)dlclose(library); /* it stays: we run in it */
	return ret->create && ret->join && ret->wait;
}

/* In the memory of this process, one behind the other. */
static int32_t find_words(uint64_t from, const uint64_t wanted[2])
{
	uint64_t words[LIBRARYS_WORDS];
	size_t count = 0, got = 1;
	while (count < LIBRARYS_WORDS && got > 0) {
		got = read_words((uint32_t)getpid(), from + count * sizeof words[0], words + count,
			LIBRARYS_WORDS - count);
		count += got;
	}
	for (size_t i = 0; i + 1 < count; i++)
		if (words[i] == wanted[0] && words[i + 1] == wanted[1])
			return (int32_t)(i * sizeof words[0]);
	return 0;
}

int32_t start_routine_offset(void)
{
	struct threads threads;
	pthread_t thread;
	sem_t is_seen;
	if (!find_threads(&threads) || sem_init(&is_seen, 0, 0) < 0)
		return 0;
	int32_t found = 0;
	if (threads.create(&thread, NULL, threads.wait, &is_seen) == 0) {
		const uint64_t wanted[] = { (uintptr_t)threads.wait, (uintptr_t)&is_seen };
		found = find_words((uint64_t)thread, wanted);
		(void)sem_post(&is_seen); /* fails only of what is no semaphore */
		(void)threads.join(thread, NULL);
	}
	(void)sem_destroy(&is_seen);
	return found;
}

static const char *module_at(const struct address_spaces *spaces, uint32_t pid, uint64_t address)
{
	const struct mapping *mapping = address_spaces_find(spaces, pid, address);
	return mapping ? spaces->modules[mapping->module] : NULL;
}

uint64_t start_routine_find(
	const struct address_spaces *spaces, uint32_t pid, uint64_t routine, uint64_t argument)
{
	const char *path = routine ? module_at(spaces, pid, routine) : NULL;
	if (!path ||
		strstr(path, "/libcorecast-")) /* around the program's, which it tells itself */
		return 0;
	uint64_t state[STATE_WORDS], run;
	size_t count =
		strstr(path, "/libstdc++.so") ? read_words(pid, argument, state, STATE_WORDS) : 0;
	if (count == 0 || read_words(pid, state[0] + RUN_SLOT * sizeof run, &run, 1) == 0 ||
		!module_at(spaces, pid, run))
		return routine;
	for (size_t i = 1; i < count; i++)
		if (module_at(spaces, pid, state[i]))
			return state[i];
	return run;
}
