/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Without memory, the readers say so and give nothing back. Allocations of our code go through
 * __wrap_NAME (the linker's --wrap), which refuses one of them; a sanitizer sees what leaks.
 */
#include "runs_text.h"

#include "scaling/curve.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

static long allowed = -1; /* allocations until one fails; -1: none fails */

static int is_refused(void)
{
	return allowed >= 0 && allowed-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
int __real_vasprintf(char **ret, const char *fmt, va_list ap);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

void *__wrap_malloc(size_t size)
{
	return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return is_refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return is_refused() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
	return is_refused() ? NULL : __real_strdup(text);
}

int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
	return is_refused() ? -1 : __real_vasprintf(ret, fmt, ap);
}

/* Fails the first allocation, then the second, ... until reading and merging succeed. */
static void expect_honest_failures(const char *text)
{
	enum { MORE_THAN_ENOUGH = 2000 };
	long failed_at = 0;
	for (; failed_at < MORE_THAN_ENOUGH; failed_at++) {
		AUTO_FILE FILE *in = fmemopen((char *)text, strlen(text), "r");
		AUTO(runs) struct runs *runs = NULL;
		AUTO(curve) struct curve *curve = NULL;
		allowed = failed_at;
		int code = runs_read(in, "r.csv", NULL, &runs, NULL);
		if (code == 0)
			code = curve_from_runs(runs, &curve, NULL);
		int was_refused = allowed < 0;
		allowed = -1;
		if (!was_refused) {
			assert_int_equal(code, 0);
			break;
		}
		assert_int_equal(code, -ENOMEM);
		assert_null(curve);
	}
	assert_in_range(failed_at, 10, MORE_THAN_ENOUGH - 1);
}

static void csv_without_memory_is_refused(void **state)
{
	(void)state;
	expect_honest_failures("threads,time,repeat,stall:a,stall:b\n"
			       "1,5,0,1,\n1,5,0,1,\n2,,0,,\n4,2,0,3,4\n");
}

static void hyperfine_without_memory_is_refused(void **state)
{
	(void)state;
	expect_honest_failures("{\"results\": [{\"times\": [1, 2], \"exit_codes\": [0, 1], "
			       "\"parameters\": {\"n\": \"1\"}}]}");
}

static void google_benchmark_without_memory_is_refused(void **state)
{
	(void)state;
	expect_honest_failures("{\"benchmarks\": [{\"name\": \"B/real_time/threads:2\", "
			       "\"real_time\": 1, \"time_unit\": \"s\"}]}");
}

static void extrap_without_memory_is_refused(void **state)
{
	(void)state;
	expect_honest_failures(
		"PARAMETER p\nPOINTS 1 2\nREGION a\nMETRIC time\nDATA 2 3\nDATA 1\n");
}

static void perf_without_memory_is_refused(void **state)
{
	(void)state;
	expect_honest_failures("# threads=1\n5,ns,duration_time\n6,,a\n7,,b\n"
			       "# threads=2\n5,ns,duration_time\n6,,a\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv_without_memory_is_refused),
		cmocka_unit_test(hyperfine_without_memory_is_refused),
		cmocka_unit_test(google_benchmark_without_memory_is_refused),
		cmocka_unit_test(extrap_without_memory_is_refused),
		cmocka_unit_test(perf_without_memory_is_refused),
	};
	return cmocka_run_group_tests_name("runs_memory", tests, NULL, NULL);
}
