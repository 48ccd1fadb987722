/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurement sets from other tools: hyperfine, Google Benchmark, Extra-P, perf stat. */
#include "runs_text.h"

#include <errno.h>
#include <math.h>

static struct runs *expect_runs_with(const char *text, struct runs_read_opts opts)
{
	struct runs *runs = NULL;
	struct err err = { "" };
	if (read_bytes(text, strlen(text), &opts, &runs, &err) < 0)
		fail_msg("%s", err.text);
	return runs;
}

static void expect_refused_with(const char *text, struct runs_read_opts opts, const char *why)
{
	struct runs *runs = NULL;
	struct err err = { "" };
	assert_int_equal(read_bytes(text, strlen(text), &opts, &runs, &err), -EINVAL);
	assert_null(runs);
	if (!strstr(err.text, why))
		fail_msg("'%s' has no '%s'", err.text, why);
}

static void assert_row(const struct runs *runs, size_t row, uint32_t threads, double value)
{
	assert_in_range(row, 0, runs->row_count - 1);
	assert_int_equal(runs->rows[row].threads, threads);
	assert_true(fabs(runs->rows[row].value - value) <= 1e-12 * value);
}

/* hyperfine */

static void hyperfine_times_are_repeats(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs = expect_runs(
		"\n{\"results\": [\n"
		" {\"command\": \"p 1\", \"mean\": 2.5, \"median\": 2.5, \"times\": [2.0, 3.0],\n"
		"  \"exit_codes\": [0, 0], \"memory_usage_byte\": [100, 200],\n"
		"  \"parameters\": {\"threads\": \"1\"}},\n"
		" {\"command\": \"p 8\", \"times\": [0.5, 1, 0.25], \"exit_codes\": [0, 1, null],\n"
		"  \"parameters\": {\"threads\": \"8\"}}]}\n");
	assert_int_equal(runs->metric, METRIC_TIME);
	assert_int_equal(runs->row_count, 3);
	assert_row(runs, 0, 1, 2);
	assert_row(runs, 1, 1, 3);
	assert_int_equal(runs->rows[1].repeat, 1);
	assert_true(runs->rows[1].rss_bytes == 200);
	assert_row(runs, 2, 8, 0.5);
	assert_true(isnan(runs->rows[2].rss_bytes));
	assert_int_equal(runs->note_count, 1);
	assert_non_null(strstr(runs->notes[0], "2 runs have an exit code"));
}

static void hyperfine_without_times_gives_its_median(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs = expect_runs(
		"{\"results\": [{\"median\": 2.5, \"mean\": 9, \"parameters\": {\"k\": \"4\"}},"
		"{\"mean\": 9, \"parameters\": {\"k\": 5}}]}");
	assert_row(runs, 0, 4, 2.5);
	assert_row(runs, 1, 5, 9);
}

static void hyperfine_finds_the_threads_among_parameters(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs =
		expect_runs("{\"results\": [{\"mean\": 1, \"parameters\": {\"size\": \"100\", "
			    "\"threads\": \"4\"}}]}");
	assert_row(runs, 0, 4, 1);
	expect_refused(
		"{\"results\": [{\"mean\": 1, \"parameters\": {\"a\": \"1\", \"b\": \"4\"}}]}",
		"r.csv: results[0]", "none is named 'threads'");
}

static void hyperfine_of_two_commands_is_refused(void **state)
{
	(void)state;
	expect_refused("{\"results\": ["
		       "{\"command\": \"a 2\", \"mean\": 1, \"parameters\": {\"n\": \"2\"}},"
		       "{\"command\": \"b 2\", \"mean\": 1, \"parameters\": {\"n\": \"2\"}}]}",
		"r.csv: results[0] ('a 2') and results[1] ('b 2') both ran 2 threads",
		"one command");
}

static void odd_hyperfine_files_are_refused_with_the_place(void **state)
{
	(void)state;
	expect_refused("{\"results\": []}", "r.csv: ", "\"results\" is empty");
	expect_refused("{\"results\": [{\"mean\": 1}]}", "r.csv: results[0]", "--parameter-scan");
	expect_refused("{\"results\": [{\"mean\": 1, \"parameters\": {\"n\": \"x\"}}]}",
		"r.csv: results[0]", "'x' is not a thread count");
	expect_refused("{\"results\": [{\"parameters\": {\"n\": \"1\"}}]}",
		"r.csv: results[0].mean", "not a time above 0");
	expect_refused("{\"results\": [{\"times\": [1, \"a\"], \"parameters\": {\"n\": \"1\"}}]}",
		"r.csv: results[0].times[1]", "not a time above 0");
	expect_refused("{\"results\": [{\"times\": [1], \"exit_codes\": [3], "
		       "\"parameters\": {\"n\": \"1\"}}]}",
		"r.csv: ", "every run failed");
	expect_refused("{\"results\": [7]}", "r.csv: results[0]", "no parameter");
	expect_refused_with("{\"results\": [{\"mean\": 1, \"parameters\": {\"n\": \"1\"}}]}",
		(struct runs_read_opts){ .metric = METRIC_THROUGHPUT }, "not a throughput");
}

/* Google Benchmark */

#define RUN(name, time, unit, rest)                                                                \
	"{\"name\": \"" name "\", \"run_name\": \"" name "\", \"run_type\": \"iteration\", "       \
	"\"real_time\": " time ", \"time_unit\": \"" unit "\"" rest "}"
#define MEDIAN(name, time, unit)                                                                   \
	"{\"name\": \"" name "_median\", \"run_name\": \"" name                                    \
	"\", \"run_type\": \"aggregate\", \"aggregate_name\": \"median\", "                        \
	"\"real_time\": " time ", \"time_unit\": \"" unit "\"}"
#define RATE(rate) ", \"items_per_second\": " rate

static const char gbench_rates[] =
	"{\"context\": {}, \"benchmarks\": [" RUN("B/64/real_time/threads:1", "2", "us",
		RATE("500")) "," RUN("B/64/real_time/threads:1", "4", "us", RATE("250")) "," //
	MEDIAN("B/64/real_time/threads:1", "3", "us") "," RUN(
		"B/64/real_time/threads:16", "1.5", "us", RATE("900.5")) "," //
	RUN("B/64/real_time/threads:32", "0", "us", ", \"error_occurred\": true") "," //
	RUN("Other", "7", "us", "") "]}";

static void google_benchmark_gives_a_throughput(void **state)
{
	(void)state;
	AUTO(runs) struct runs *runs = expect_runs(gbench_rates);
	assert_int_equal(runs->metric, METRIC_THROUGHPUT);
	assert_int_equal(runs->row_count, 3);
	assert_row(runs, 0, 1, 500);
	assert_row(runs, 1, 1, 250);
	assert_int_equal(runs->rows[1].repeat, 1);
	assert_row(runs, 2, 16, 900.5);
	assert_int_equal(runs->note_count, 1);
	assert_non_null(strstr(runs->notes[0], "1 run has an error"));
}

static void google_benchmark_gives_a_time_when_asked(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs =
		expect_runs_with(gbench_rates, (struct runs_read_opts){ .metric = METRIC_TIME });
	assert_int_equal(runs->metric, METRIC_TIME);
	assert_row(runs, 0, 1, 2e-6);
	assert_row(runs, 2, 16, 1.5e-6);
	assert_int_equal(runs->note_count, 2);
	assert_non_null(strstr(runs->notes[1], "1.9.0"));
}

static void a_rate_of_cpu_time_is_no_throughput(void **state)
{
	(void)state;
	const char text[] = "{\"benchmarks\": [" RUN("B/threads:2", "3", "ms", RATE("100")) "]}";
	AUTO(runs) struct runs *runs = expect_runs(text);
	assert_int_equal(runs->metric, METRIC_TIME);
	assert_row(runs, 0, 2, 3e-3);
	expect_refused_with(text, (struct runs_read_opts){ .metric = METRIC_THROUGHPUT },
		"'B' has no throughput by the wall clock");
}

static void medians_are_read_when_there_is_nothing_else(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs =
		expect_runs("{\"benchmarks\": [" MEDIAN("B/real_time/threads:4", "3", "s") "]}");
	assert_int_equal(runs->row_count, 1);
	assert_row(runs, 0, 4, 3);
}

static void one_of_several_benchmarks_is_selected(void **state)
{
	(void)state;
	const char text[] = "{\"benchmarks\": [" RUN("A/threads:2/x", "3", "s", "") "," RUN(
		"B/threads:2", "4", "s", "") "]}";
	expect_refused(text, "r.csv: ", "--select one of 'A/x', 'B'");
	AUTO(runs)
	struct runs *runs = expect_runs_with(text, (struct runs_read_opts){ .select = "A/x" });
	assert_int_equal(runs->row_count, 1);
	assert_row(runs, 0, 2, 3);
	expect_refused_with(text, (struct runs_read_opts){ .select = "C" },
		"no benchmark 'C': there are 'A/x', 'B'");
}

static void odd_benchmark_files_are_refused(void **state)
{
	(void)state;
	expect_refused("{\"benchmarks\": []}", "r.csv: ", "no benchmark is named .../threads:N");
	expect_refused("{\"benchmarks\": [" RUN("B", "3", "s", "") "]}",
		"r.csv: ", "no benchmark is named .../threads:N");
	expect_refused("{\"benchmarks\": [1, {\"name\": 2}]}", "r.csv: ", "no benchmark is named");
	expect_refused("{\"benchmarks\": [" RUN("B/threads:2", "3", "parsec", "") "]}",
		"r.csv: benchmarks[0] ('B/threads:2')", "real_time with time_unit");
	expect_refused("{\"benchmarks\": [" RUN("B/threads:2", "-3", "s", "") "]}",
		"r.csv: benchmarks[0]", "not a measurement above 0");
	expect_refused("{\"benchmarks\": [" RUN(
			       "B/threads:2", "0", "s", ", \"error_occurred\": true") "]}",
		"r.csv: ", "every run of 'B' failed");
}

static void json_that_is_not_ours_is_refused_with_the_line(void **state)
{
	(void)state;
	expect_refused("{\"results\": [\n1,\n}", "r.csv:3: ", "near '}'");
	expect_refused("\n\n{\"a\" 1}", "r.csv:3: ", "expected");
	expect_refused("{", "r.csv:1: ", "");
	expect_refused("[1]", "r.csv: ", "neither \"results\"");
	expect_refused("{\"a\": 1} trailing", "r.csv:1: ", "end of file expected");
}

/* Extra-P */

static void extrap_lines_are_points_with_repeats(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs = expect_runs("# made by hand\n"
					"PARAMETER p\r\n"
					"POINTS 1 ( 2 ) ((4))\n"
					"POINTS (8)\n"
					"\n"
					"METRIC time\n"
					"REGION main->solve \n"
					"DATA 10 11\n"
					"# between\n"
					"DATA 6\n"
					"DATA 3.5 3.25 3.75\n"
					"DATA 2\n");
	assert_int_equal(runs->metric, METRIC_TIME);
	assert_int_equal(runs->row_count, 7);
	assert_row(runs, 1, 1, 11);
	assert_row(runs, 2, 2, 6);
	assert_row(runs, 5, 4, 3.75);
	assert_int_equal(runs->rows[5].repeat, 2);
	assert_row(runs, 6, 8, 2);
	assert_int_equal(runs->rows[6].line, 12);
}

static const char extrap_two[] = "PARAMETER p\nPOINTS 1 2\n"
				 "REGION a\nMETRIC time\nDATA 1\nDATA 2\n"
				 "METRIC bytes\nDATA 5\nDATA 6\n"
				 "REGION b\nDATA 7\nDATA 8\n";

static void one_of_several_regions_is_selected(void **state)
{
	(void)state;
	expect_refused(extrap_two, "r.csv: ", "--select one of 'a, time', 'a, bytes', 'b, bytes'");
	AUTO(runs)
	struct runs *region =
		expect_runs_with(extrap_two, (struct runs_read_opts){ .select = "b" });
	assert_int_equal(region->row_count, 2);
	assert_int_equal(region->metric, METRIC_UNKNOWN);
	assert_row(region, 1, 2, 8);
	AUTO(runs)
	struct runs *both =
		expect_runs_with(extrap_two, (struct runs_read_opts){ .select = "a, time" });
	assert_int_equal(both->metric, METRIC_TIME);
	assert_row(both, 1, 2, 2);
	expect_refused_with(extrap_two, (struct runs_read_opts){ .select = "a" },
		"several metrics: --select one, as 'a, bytes'");
	expect_refused_with(extrap_two, (struct runs_read_opts){ .select = "c" }, "no region 'c'");
	expect_refused_with(extrap_two,
		(struct runs_read_opts){ .select = "a, time", .metric = METRIC_THROUGHPUT },
		"the values are a time, not a throughput");
}

static void odd_extrap_files_are_refused_with_the_line(void **state)
{
	(void)state;
	expect_refused("PARAMETER p q\n", "r.csv:1: ", "one PARAMETER");
	expect_refused("PARAMETER p\nPARAMETER q\n", "r.csv:2: ", "one PARAMETER");
	expect_refused("PARAMETER p\nPOINTS 1 x\n", "r.csv:2: ", "'x' is not a thread count");
	expect_refused("PARAMETER p\nPOINTS 1.5\n", "r.csv:2: ", "'1.5' is not a thread count");
	expect_refused("PARAMETER p\nPOINTS 1 70000\n", "r.csv:2: ", "'70000'");
	expect_refused("PARAMETER p\nPOINTS 1\n", "r.csv: ", "there is no DATA line");
	expect_refused("PARAMETER p\nPOINTS 1\nDATA 1\nDATA 2\n", "r.csv:4: ", "more DATA lines");
	expect_refused("DATA 1\n", "r.csv:1: ", "more DATA lines than the 0 POINTS");
	expect_refused("PARAMETER p\nPOINTS 1 2\nDATA 1\n", "r.csv:3: ", "1 DATA lines");
	expect_refused("PARAMETER p\nPOINTS 1\nDATA\n", "r.csv:3: ", "there is no value");
	expect_refused(
		"PARAMETER p\nPOINTS 1\nDATA 1 0\n", "r.csv:3: ", "'0' is not a measurement");
	expect_refused("PARAMETER p\nPOINTS 1\nDATA nan\n", "r.csv:3: ", "'nan' is not a");
	expect_refused("PARAMETER p\nDATUM 1\n", "r.csv:2: ", "'DATUM 1' does not begin with");
}

/* perf stat */

static void perf_blocks_are_runs_with_stalls(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs =
		expect_runs("# threads=1\n"
			    "# started on Fri\n"
			    "\n"
			    "2000000000,ns,duration_time,2000000000,100.00,,\n"
			    "28.44,msec,task-clock:u,28435565,100.00,0.927,CPUs utilized\n"
			    "123,,resource_stalls.rob,5,50.00,,\n"
			    ",,,,,1.5,insn per cycle\n"
			    "77,,cycles:u,5,100.00,,\n"
			    "9,,cpu/event=0xa2,umask=0x8,name=x/u,5,100.00,,\n"
			    "#threads=4\n"
			    "  0.75 seconds time elapsed\n"
			    "<not counted>,,resource_stalls.rob,0,0.00,,\n"
			    "# threads=4\n"
			    "800000000,,duration_time,7.27%,810424,100.00,1.178,G/sec\n"
			    "60,,resource_stalls.rob,5,50.00,,\n"
			    "<not supported>,,cycles,0,100.00,,\n");
	assert_int_equal(runs->metric, METRIC_TIME);
	assert_int_equal(runs->stall_count, 2);
	assert_string_equal(runs->stall_names[0], "resource_stalls.rob");
	assert_string_equal(runs->stall_names[1], "cpu/event=0xa2,umask=0x8,name=x/u");
	assert_int_equal(runs->row_count, 3);
	assert_row(runs, 0, 1, 2);
	assert_true(runs->rows[0].stalls[0] == 123 && runs->rows[0].stalls[1] == 9);
	assert_row(runs, 1, 4, 0.75);
	assert_true(isnan(runs->rows[1].stalls[0]));
	assert_row(runs, 2, 4, 0.8);
	assert_int_equal(runs->rows[2].repeat, 1);
	assert_true(runs->rows[2].stalls[0] == 60 && isnan(runs->rows[2].stalls[1]));
}

static void odd_perf_output_is_refused_with_the_line(void **state)
{
	(void)state;
	expect_refused("0.80,msec,task-clock,798976,100.00,,\n", "r.csv:1: ", "'# threads=N'");
	expect_refused("<not supported>,,cycles,0,100.00,,\n", "r.csv:1: ", "'# threads=N'");
	expect_refused("# threads=2\n1,,stall,1,100,,\n", "r.csv:2: ", "add -e duration_time");
	expect_refused("# threads=2\n5,ns,duration_time\n6,ns,duration_time\n",
		"r.csv:3: ", "a second time for the run at line 2");
	expect_refused("# threads=2\n5,ns,duration_time\n6,,a\n6,,a\n",
		"r.csv:4: ", "event 'a' is there twice");
	expect_refused("# threads=2\n5,ns,duration_time\nCPU0,5,,a,1\n", "r.csv:3: ", "without -A");
	expect_refused("# threads=2\n1.0001,5,,a,1\n", "r.csv:2: ", "without -A, -I");
	expect_refused("# threads=2\n5,s,duration_time\n", "r.csv:2: ", "not in ns");
	expect_refused("# threads=2\n0,ns,duration_time\n", "r.csv:2: ", "not above 0");
	expect_refused(
		"# threads=2\n<not counted>,,duration_time,\n", "r.csv:2: ", "was not counted");
	expect_refused_with("# threads=2\n5,ns,duration_time\n",
		(struct runs_read_opts){ .metric = METRIC_THROUGHPUT }, "not a throughput");
}

static void a_threads_comment_does_not_make_csv_perf_output(void **state)
{
	(void)state;
	AUTO(runs) struct runs *runs = expect_runs("# threads=4\nthreads,time\n1,2\n");
	assert_row(runs, 0, 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hyperfine_times_are_repeats),
		cmocka_unit_test(hyperfine_without_times_gives_its_median),
		cmocka_unit_test(hyperfine_finds_the_threads_among_parameters),
		cmocka_unit_test(hyperfine_of_two_commands_is_refused),
		cmocka_unit_test(odd_hyperfine_files_are_refused_with_the_place),
		cmocka_unit_test(google_benchmark_gives_a_throughput),
		cmocka_unit_test(google_benchmark_gives_a_time_when_asked),
		cmocka_unit_test(a_rate_of_cpu_time_is_no_throughput),
		cmocka_unit_test(medians_are_read_when_there_is_nothing_else),
		cmocka_unit_test(one_of_several_benchmarks_is_selected),
		cmocka_unit_test(odd_benchmark_files_are_refused),
		cmocka_unit_test(json_that_is_not_ours_is_refused_with_the_line),
		cmocka_unit_test(extrap_lines_are_points_with_repeats),
		cmocka_unit_test(one_of_several_regions_is_selected),
		cmocka_unit_test(odd_extrap_files_are_refused_with_the_line),
		cmocka_unit_test(perf_blocks_are_runs_with_stalls),
		cmocka_unit_test(odd_perf_output_is_refused_with_the_line),
		cmocka_unit_test(a_threads_comment_does_not_make_csv_perf_output),
	};
	return cmocka_run_group_tests_name("runs_import", tests, NULL, NULL);
}
