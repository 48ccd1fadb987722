/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Without memory, the readers say so and give nothing back; a sanitizer sees what leaks.
 */
#include "refused_memory.h"
#include "runs_text.h"

#include "scaling/curve.h"

#include <errno.h>
#include <stdlib.h>

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
