/* SPDX-License-Identifier: MIT */
#include "tuned.h"

#include "kernel_clock.h"
#include "tune_page.h"

#include <corecast/pool.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	ASKERS_MAX = 64,
	ASKS_FIRST = 2, /* so often an asker is told all */
	/* So often in a row all are told the same, as one region may come of them. */
	ASKS_KEPT = 16,
	NOBODY = ASKERS_MAX,
};

static struct tune_page *page; /* NULL: nobody tunes this program */

/* Calls in the program that ask how many threads a region would have. */
static struct asker {
	const void *caller; /* NULL: free */
	uint32_t asks;
	bool leads; /* a region has followed */
	bool skips; /* it asks again and again without one: where it is told 1, none follows */
} askers[ASKERS_MAX];

/* What this thread was told last. */
static __thread struct {
	unsigned threads; /* 0: nothing yet */
	unsigned asker; /* plus one; 0: a region has followed */
	unsigned asks; /* since then */
} told;

/* Where the linker put this library. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* A program that is recorded, too, has two libraries of ours: it calls the first one, and the other counts nothing a second time. */
static bool is_in_front(void)
{
	const char *called = dlsym(RTLD_DEFAULT, "corecast_pool_ask");
	return called >= __ehdr_start && called < etext;
}

__attribute__((constructor)) static void open_page(void)
{
	int kept = errno;
	const char *path = getenv(TUNE_PAGE_ENVIRONMENT);
	int fd = path && is_in_front() ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd >= 0) {
		void *mapped =
			mmap(NULL, TUNE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (mapped != MAP_FAILED &&
			((struct tune_page *)mapped)->version == TUNE_PAGE_VERSION)
			page = mapped;
		(void)close(fd); /* what is mapped stays */
	}
	errno = kept;
}

bool tuned_is_on(void)
{
	return page != NULL;
}

bool tuned_wants_iterations(void)
{
	return page && __atomic_load_n(&page->wants_iterations, __ATOMIC_RELAXED);
}

static unsigned wanted(void)
{
	return __atomic_load_n(&page->threads, __ATOMIC_RELAXED);
}

static void note_tunable(void)
{
	if (!__atomic_load_n(&page->is_tunable, __ATOMIC_RELAXED))
		__atomic_store_n(&page->is_tunable, 1, __ATOMIC_RELAXED);
}

unsigned tuned_threads(unsigned asked)
{
	if (!page || asked != 0)
		return asked;
	note_tunable();
	unsigned threads = wanted();
	bool is_told = told.asker > 0;
	if (is_told && told.asker <= ASKERS_MAX)
		__atomic_store_n(&askers[told.asker - 1].leads, true, __ATOMIC_RELAXED);
	told.asker = told.asks = 0;
	return threads > 0 && told.threads > 0 && (is_told || threads > told.threads) ? told.threads
										      : threads;
}

/* NOBODY: there are too many. */
static unsigned find_asker(const void *caller)
{
	for (unsigned i = 0; i < ASKERS_MAX; i++) {
		const void *expected = NULL;
		if (__atomic_load_n(&askers[i].caller, __ATOMIC_RELAXED) == caller ||
			__atomic_compare_exchange_n(&askers[i].caller, &expected, caller, false,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			expected == caller)
			return i;
	}
	return NOBODY;
}

unsigned tuned_told(unsigned most, const void *caller)
{
	unsigned threads = page ? wanted() : 0;
	if (threads == 0)
		return most;
	unsigned i = find_asker(caller);
	bool is_first = i == NOBODY ||
			__atomic_fetch_add(&askers[i].asks, 1, __ATOMIC_RELAXED) < ASKS_FIRST;
	/* What it asked for last was done without a region. */
	if (i != NOBODY && told.asker == i + 1 &&
		__atomic_load_n(&askers[i].leads, __ATOMIC_RELAXED))
		tuned_region_ended();
	/* Several arrays may be laid out for one region, by the same call: nobody is told more than the first meanwhile. */
	bool is_many = told.asks++ >= ASKS_KEPT;
	if (is_many && i != NOBODY)
		__atomic_store_n(&askers[i].skips, true, __ATOMIC_RELAXED);
	bool is_kept = told.asker > 0 && !is_many && i != NOBODY &&
		       !__atomic_load_n(&askers[i].skips, __ATOMIC_RELAXED);
	if (!is_kept)
		told.threads = is_first || threads > most ? most : threads;
	told.asker = i + 1;
	return is_first ? most : told.threads;
}

/* Waits a tenth of a second at most: whoever wrote the page last may not have woken us. */
static void wait_for_change(unsigned threads, int milliseconds)
{
	enum { LONGEST_MS = 100 };
	if (milliseconds > LONGEST_MS)
		milliseconds = LONGEST_MS;
	const struct timespec limit = { .tv_nsec = milliseconds * 1000000L };
	(void)syscall(SYS_futex, &page->threads, FUTEX_WAIT, threads, &limit, NULL, 0);
}

static int64_t now_ms(void)
{
	return (int64_t)(kernel_clock_ns(CLOCK_MONOTONIC) / 1000000);
}

EXPORT int corecast_pool_ask(unsigned worker, int milliseconds)
{
	if (!page)
		return 1;
	note_tunable();
	unsigned threads = wanted();
	if (threads == 0 || worker < threads)
		return 1;
	int kept = errno;
	int64_t end = now_ms() + milliseconds, left = milliseconds;
	for (; left > 0 && threads != 0 && worker >= threads; left = end - now_ms()) {
		wait_for_change(threads, (int)left);
		threads = wanted();
	}
	errno = kept;
	return threads == 0 || worker < threads;
}

EXPORT void corecast_pool_count(uint64_t units)
{
	tuned_tick(units);
}

void tuned_region_ended(void)
{
	if (page)
		(void)__atomic_add_fetch(&page->regions, 1, __ATOMIC_RELAXED);
}

void tuned_iterations(uint64_t count)
{
	if (tuned_wants_iterations())
		(void)__atomic_add_fetch(&page->iterations, count, __ATOMIC_RELAXED);
}

void tuned_tick(uint64_t units)
{
	if (page)
		(void)__atomic_add_fetch(&page->ticks, units, __ATOMIC_RELAXED);
}
