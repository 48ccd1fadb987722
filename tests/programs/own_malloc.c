/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program with an allocator that locks, as jemalloc does: others allocate before any thread is recorded. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

/* Nothing is given back. */
void *malloc(size_t bytes)
{
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
