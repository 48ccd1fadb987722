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
	BODIES = 1024,
	PROBES = 16,
};

static struct tune_page *page; /* NULL: nobody tunes this program */

struct tuned_body {
	const void *code; /* NULL: free */
	unsigned seen; /* of enum tuned_seen */
};

static struct tuned_body bodies[BODIES];

/* In the region that this thread runs. */
static __thread unsigned seen __attribute__((tls_model("initial-exec")));
/* How many a region would have, since its last one. */
static __thread bool has_asked __attribute__((tls_model("initial-exec")));

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

struct tuned_body *tuned_find(const void *code)
{
	size_t first = (size_t)(((uintptr_t)code >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 54);
	for (size_t i = 0; page && i < PROBES; i++) {
		struct tuned_body *body = &bodies[(first + i) % BODIES];
		const void *expected = NULL;
		if (__atomic_load_n(&body->code, __ATOMIC_RELAXED) == code ||
			__atomic_compare_exchange_n(&body->code, &expected, code, false,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			expected == code)
			return body;
	}
	return NULL;
}

/* It does the same work with fewer threads than it would have had. */
static bool takes_fewer(unsigned known, bool was_asked)
{
	if (known & TUNED_NAMES)
		return false;
	if (known & TUNED_DIVIDES)
		return true;
	bool has_either = known & (TUNED_NUMBERS | TUNED_COUNTS);
	bool has_both = (known & TUNED_NUMBERS) && (known & TUNED_COUNTS);
	return !was_asked && !(known & TUNED_ASKED_AGAIN) &&
	       (!has_either || has_both || (known & TUNED_SHARES));
}

static void add(uint64_t *counter)
{
	(void)__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

unsigned tuned_threads(struct tuned_body *body, unsigned known, unsigned asked, unsigned own)
{
	unsigned threads = page ? wanted() : 0;
	bool was_asked = has_asked, is_inside = seen & TUNED_RAN;
	has_asked = false;
	if (threads == 0 || asked == 1)
		return asked;
	if (body)
		known |= __atomic_load_n(&body->seen, __ATOMIC_RELAXED);
	if (body && was_asked && !(known & TUNED_ASKED_AGAIN))
		(void)__atomic_or_fetch(&body->seen,
			known & TUNED_ASKED ? TUNED_ASKED_AGAIN : TUNED_ASKED, __ATOMIC_RELAXED);
	if (body && asked == 0 && !(known & (TUNED_RAN | TUNED_DIVIDES)))
		return 0; /* what it does is seen then */
	if (!body || asked > 0 || !takes_fewer(known, was_asked)) {
		if (!is_inside)
			add(&page->kept);
		return asked;
	}
	note_tunable();
	if (!is_inside)
		add(&page->tuned);
	bool is_bounded = own != page->told || __atomic_load_n(&page->is_bounded, __ATOMIC_RELAXED);
	return is_bounded && threads > own ? own : threads;
}

unsigned tuned_enter(void)
{
	unsigned outer = seen;
	seen = TUNED_RAN;
	return outer;
}

static void note_bounded(void)
{
	if (!__atomic_load_n(&page->is_bounded, __ATOMIC_RELAXED))
		__atomic_store_n(&page->is_bounded, 1, __ATOMIC_RELAXED);
}

void tuned_leave(struct tuned_body *body, unsigned outer)
{
	if (body && (seen & ~__atomic_load_n(&body->seen, __ATOMIC_RELAXED))) {
		(void)__atomic_or_fetch(&body->seen, seen, __ATOMIC_RELAXED);
		if (seen & TUNED_NUMBERS)
			note_bounded();
	}
	seen = outer;
}

void tuned_saw(unsigned what)
{
	seen |= what;
}

void tuned_was_asked(void)
{
	has_asked = true;
	if (page)
		note_bounded();
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
