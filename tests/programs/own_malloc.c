/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program with an allocator that locks, as jemalloc does: others allocate before any thread is recorded. As Chromium's
 * it first asks the kernel something, in which it must not be asked for memory itself.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library's own allocations come here, too. */
#pragma GCC visibility push(default)
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *old, size_t bytes);
void free(void *block);
#pragma GCC visibility pop

enum { ROOM = 8 << 20, HEAD = 16, ROUNDS = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(HEAD) char room[ROOM];
static size_t used;
static void *volatile kept;

/* Where Chromium's waits for itself, this ends. */
static void set_up(void)
{
	static bool is_begun, is_done;
	if (is_begun && !is_done)
		_exit(3);
	is_begun = true;
	if (!is_done)
		is_done = syscall(SYS_getpid) > 0;
}

/* Nothing is given back. */
void *malloc(size_t bytes)
{
	set_up();
	if (pthread_mutex_trylock(&lock) != 0)
		(void)pthread_mutex_lock(&lock);
	size_t size = (bytes + HEAD - 1) / HEAD * HEAD + HEAD;
	char *block = bytes < ROOM && size <= ROOM - used ? room + used : NULL;
	if (block) {
		memcpy(block, &bytes, sizeof(bytes));
		used += size;
	}
	(void)pthread_mutex_unlock(&lock);
	return block ? block + HEAD : NULL;
}

void *calloc(size_t count, size_t bytes)
{
	return malloc(count * bytes); /* new room is zero */
}

void *realloc(void *old, size_t bytes)
{
	void *block = malloc(bytes);
	size_t had = 0;
	if (old)
		memcpy(&had, (char *)old - HEAD, sizeof(had));
	if (block && old)
		memcpy(block, old, had < bytes ? had : bytes);
	return block;
}

void free(void *block)
{
	(void)block;
}

/* Before any library is set up, as a library's constructor may. */
static void allocate_early(void)
{
	kept = malloc(8);
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = allocate_early;

static void *allocate(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		kept = malloc(8);
	return unused;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, allocate, NULL) != 0)
		return 1;
	(void)allocate(NULL);
	(void)pthread_join(thread, NULL);
	(void)puts("done");
	return 0;
}
