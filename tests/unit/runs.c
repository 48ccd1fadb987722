/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurement sets: RUNS.csv, good and bad. */
#include "runs_text.h"

#include "base/strbuf.h"

#include <errno.h>
#include <math.h>

static void a_time_column_is_read(void **state)
{
	(void)state;
	AUTO(runs) struct runs *runs = expect_runs("threads,time\n1,10.5\n2,6\n4,3.25e0\n");
	assert_int_equal(runs->metric, METRIC_TIME);
	assert_int_equal(runs->row_count, 3);
	assert_int_equal(runs->rows[2].threads, 4);
	assert_true(runs->rows[2].value == 3.25);
	assert_true(isnan(runs->rows[2].rss_bytes));
	assert_int_equal(runs->rows[2].line, 4);
	assert_int_equal(runs->note_count, 0);
}

static void every_column_of_ours_is_read_and_others_are_ignored(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs =
		expect_runs("# made by hand\n"
			    "\n"
			    "user,threads,repeat,stall:lock wait,time,stall:L2,rss_bytes,x\n"
			    "abc,4,0,1e9,2,0,4096,\n"
			    "# stalls: seconds, summed over threads\n"
			    ",4,1,,2.5,7,,y\n");
	assert_int_equal(runs->stall_count, 2);
	assert_string_equal(runs->stall_names[0], "lock wait");
	assert_string_equal(runs->stall_names[1], "L2");
	assert_int_equal(runs->row_count, 2);
	assert_true(runs->has_stall_seconds);
	assert_true(runs->rows[0].stalls[0] == 1e9);
	assert_true(runs->rows[0].rss_bytes == 4096);
	assert_true(isnan(runs->rows[1].stalls[0]));
	assert_true(runs->rows[1].stalls[1] == 7);
	assert_true(isnan(runs->rows[1].rss_bytes));
	assert_int_equal(runs->rows[1].repeat, 1);
	assert_int_equal(runs->rows[1].line, 6);
}

static void rows_are_repeats_in_order_without_a_repeat_column(void **state)
{
	(void)state;
	AUTO(runs) struct runs *runs = expect_runs("threads,time\n2,5\n1,9\n2,6\n2,7\n");
	assert_int_equal(runs->rows[0].repeat, 0);
	assert_int_equal(runs->rows[1].repeat, 0);
	assert_int_equal(runs->rows[2].repeat, 1);
	assert_int_equal(runs->rows[3].repeat, 2);
	assert_int_equal(runs->note_count, 0);
}

static void nan_beside_the_value_is_not_measured(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs =
		expect_runs("threads,value,stddev,n,stall:s,rss_bytes\n1,2,nan,1,NaN,-nan\n");
	assert_true(runs->rows[0].stddev == 0);
	assert_true(isnan(runs->rows[0].stalls[0]));
	assert_true(isnan(runs->rows[0].rss_bytes));
}

static void throughput_wins_unless_time_is_asked_for(void **state)
{
	(void)state;
	const char text[] = "threads,time,throughput\n1,2,50\n";
	AUTO(runs) struct runs *both = expect_runs(text);
	assert_int_equal(both->metric, METRIC_THROUGHPUT);
	assert_true(both->rows[0].value == 50);

	AUTO(runs) struct runs *asked = NULL;
	struct runs_read_opts opts = { .metric = METRIC_TIME };
	assert_int_equal(read_bytes(text, strlen(text), &opts, &asked, NULL), 0);
	assert_int_equal(asked->metric, METRIC_TIME);
	assert_true(asked->rows[0].value == 2);
}

static void a_value_column_takes_the_metric_that_is_asked_for(void **state)
{
	(void)state;
	const char text[] = "threads,value,stddev,n\n1,31048306,1000,4\n2,14710794,,\n";
	AUTO(runs) struct runs *unknown = expect_runs(text);
	assert_int_equal(unknown->metric, METRIC_UNKNOWN);
	assert_int_equal(unknown->rows[0].merged, 4);
	assert_true(unknown->rows[0].stddev == 1000);
	assert_int_equal(unknown->rows[1].merged, 0);

	AUTO(runs) struct runs *asked = NULL;
	struct runs_read_opts opts = { .metric = METRIC_THROUGHPUT };
	assert_int_equal(read_bytes(text, strlen(text), &opts, &asked, NULL), 0);
	assert_int_equal(asked->metric, METRIC_THROUGHPUT);
}

static void an_asked_metric_that_is_not_there_is_refused(void **state)
{
	(void)state;
	struct runs *runs = NULL;
	struct err err;
	struct runs_read_opts opts = { .metric = METRIC_THROUGHPUT };
	assert_int_equal(read_bytes("threads,time\n1,2\n", 17, &opts, &runs, &err), -EINVAL);
	assert_non_null(strstr(err.text, "r.csv:1: no column 'throughput'"));
}

static void line_ends_and_a_byte_order_mark_do_not_matter(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"threads,time\n1,2\n2,1.5\n",
		"threads,time\r\n1,2\r\n2,1.5\r\n",
		"threads,time\n1,2\n2,1.5",
		"\xef\xbb\xbfthreads,time\n1,2\n2,1.5\n",
		"\n\n Threads , TIME \n\n 1 , 2\t\n2,1.5\n\n",
		"\"threads\",\"time\"\n\"1\",\"2\"\n\"2\" ,1.5\n",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		AUTO(runs) struct runs *runs = expect_runs(texts[i]);
		assert_int_equal(runs->metric, METRIC_TIME);
		assert_int_equal(runs->row_count, 2);
		assert_true(runs->rows[0].value == 2 && runs->rows[1].value == 1.5);
	}
}

static void quoted_fields_may_hold_commas_and_quotes(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs = expect_runs(
		"threads,\"stall:a,\"\"b\"\"\",time,command\n2,3,4,\"x \"\"y\"\", z\"\n");
	assert_string_equal(runs->stall_names[0], "a,\"b\"");
	assert_true(runs->rows[0].stalls[0] == 3);
	assert_true(runs->rows[0].value == 4);
}

static void a_failed_run_is_skipped_with_a_note(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs = expect_runs("threads,time,rss_bytes\n1,2,5\n2,,\n4,,\n8,1,5\n");
	assert_int_equal(runs->row_count, 2);
	assert_int_equal(runs->note_count, 1);
	assert_string_equal(runs->notes[0], "2 rows have no time (first line 3): skipped");
}

static void what_measure_remarked_is_kept(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs = expect_runs("threads,time\n# cores: 6\n# note: the machine is busy\n"
					"# notes: none\n1,2\n2,1\n");
	assert_int_equal(runs->cores, 6);
	assert_int_equal(runs->note_count, 1);
	assert_string_equal(runs->notes[0], "measured with a remark: the machine is busy");
	AUTO_RELEASE(strbuf) struct strbuf many = { 0 };
	strbuf_add(&many, "threads,time\n# note: oversubscribed above 2 threads: only 2\n"
			  "# cores: 99999999999\n1,2\n");
	for (int i = 0; i < 100; i++)
		strbuf_addf(&many, "# note: %d\n", i);
	AUTO(runs) struct runs *bounded = expect_runs(many.text);
	assert_int_equal(bounded->cores, 2);
	assert_int_equal(bounded->note_count, 8);
}

static void a_row_that_is_there_twice_is_noted(void **state)
{
	(void)state;
	AUTO(runs)
	struct runs *runs = expect_runs("threads,repeat,time\n4,1,2\n1,0,5\n4,0,2\n4,1,2.5\n");
	assert_int_equal(runs->row_count, 4);
	assert_int_equal(runs->note_count, 1);
	assert_non_null(strstr(runs->notes[0], "1 row has"));
	assert_non_null(strstr(runs->notes[0], "threads 4 repeat 1 (lines 2 and 5)"));
}

static void files_without_rows_are_refused(void **state)
{
	(void)state;
	expect_refused("", "r.csv: ", "it is empty");
	expect_refused("\n \r\n\t\n", "r.csv: ", "it is empty");
	expect_refused("# only\n#comments", "r.csv: ", "only comments");
	expect_refused("threads,time\n", "r.csv: ", "no row with a time");
	expect_refused("threads,time\n1,\n2,\n", "r.csv: ", "every run failed");
}

static void headers_that_are_not_ours_are_refused(void **state)
{
	(void)state;
	expect_refused("1,2\n2,1\n", "r.csv:1: ", "there is no header");
	expect_refused("n,time\n1,2\n", "r.csv:1: ", "no column 'threads' in 'n,time'");
	expect_refused("threads,user\n1,2\n", "r.csv:1: ", "no column 'time'");
	expect_refused("#c\nthreads\n1\n", "r.csv:2: ", "no column 'time'");
	expect_refused("threads;time\n1;2,5\n", "r.csv:1: ", "separated by ';'");
	expect_refused("threads\ttime\n1\t2\n", "r.csv:1: ", "separated by tabs");
	expect_refused("threads,time,Time\n1,2,3\n", "r.csv:1: ", "column 'time' is there twice");
	expect_refused("threads,time,stall:a,stall:a\n", "r.csv:1: ", "'stall:a' is there twice");
	expect_refused("threads,time,stall:\n", "r.csv:1: ", "needs a name");
}

static void values_that_are_not_measurements_are_refused_with_the_place(void **state)
{
	(void)state;
	static const struct {
		const char *row;
		const char *why;
	} cases[] = {
		{ "2,abc,", "column 'time': 'abc' is not a number" },
		{ "2,1.5s,", "column 'time': '1.5s' is not a number" },
		{ "2,0x10,", "column 'time': '0x10' is not a number" },
		{ "2,0,", "column 'time' is 0" },
		{ "2,-1,", "column 'time': '-1' is negative" },
		{ "2,nan,", "column 'time': 'nan' is not a" },
		{ "2,inf,", "column 'time': 'inf' is out of range" },
		{ "2,1e999,", "column 'time': '1e999' is out of range" },
		{ "2,\"1,5\",", "column 'time': '1,5' is not a number: write a decimal point" },
		{ "2,1,5,", "it has 4 fields and the header has 3" },
		{ "2,1", "it has 2 fields and the header has 3" },
		{ "0,1,", "column 'threads': '0' is not a thread count" },
		{ "-1,1,", "column 'threads': '-1' is not a thread count" },
		{ "1.5,1,", "column 'threads': '1.5' is not a thread count" },
		{ "65537,1,", "column 'threads': '65537' is not a thread count" },
		{ ",1,", "column 'threads': '' is not a thread count" },
		{ "2,1,x", "column 'stall:s': 'x' is not a number" },
		{ "2,1,-3", "column 'stall:s': '-3' is negative" },
		{ "2,\"1,", "field 2: its quotes do not match" },
		{ "2,\"1\"5,", "field 2: its quotes do not match" },
		{ "2,\033[31m,", "column 'time': '?[31m' is not a number" },
		{ "2,1\r2,", "carriage return inside the line" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		strbuf_addf(&text, "threads,time,stall:s\n1,2,3\n%s\n4,1,\n", cases[i].row);
		expect_refused(text.text, "r.csv:3: ", cases[i].why);
	}
}

static void counts_beside_the_value_are_checked(void **state)
{
	(void)state;
	expect_refused("threads,time,repeat\n1,2,x\n", "r.csv:2: ", "column 'repeat': 'x'");
	expect_refused("threads,time,rss_bytes\n1,2,-1\n", "r.csv:2: ", "column 'rss_bytes': '-1'");
	expect_refused("threads,time,stddev,n\n1,2,1,0\n", "r.csv:2: ", "column 'n': '0'");
}

static void binary_files_are_refused(void **state)
{
	(void)state;
	expect_refused_bytes("threads,time\n1,\0002\n", 18, "r.csv:2: ", "zero byte");
	expect_refused_bytes("\0\0\0", 3, "r.csv:1: ", "zero byte");
	expect_refused_bytes("t\0h\0r\0", 6, "r.csv:1: ", "zero byte");
	expect_refused_bytes("\xff\xfet\0h\0", 6, "r.csv: ", "UTF-16");
	expect_refused_bytes("\xfe\xff\0t\0h", 6, "r.csv: ", "UTF-16");
	expect_refused_bytes("\xef\xbbt", 3, "r.csv: ", "UTF-8");
}

/* Endless text without a line end; counts what was taken. */
static ssize_t endless(void *cookie, char *buffer, size_t size)
{
	*(size_t *)cookie += size;
	memset(buffer, '1', size);
	return (ssize_t)size;
}

static void an_endless_line_is_refused_early(void **state)
{
	(void)state;
	size_t taken = 0;
	AUTO_FILE FILE *in = fopencookie(&taken, "r", (cookie_io_functions_t){ .read = endless });
	struct runs *runs = NULL;
	struct err err;
	assert_int_equal(runs_read(in, "big", NULL, &runs, &err), -EINVAL);
	assert_non_null(strstr(err.text, "big:1: the line is longer than"));
	assert_true(taken < 2 << 20);
}

static ssize_t broken(void *cookie, char *buffer, size_t size)
{
	(void)cookie, (void)buffer, (void)size;
	errno = EIO;
	return -1;
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
	(void)state;
	AUTO_FILE FILE *in = fopencookie(NULL, "r", (cookie_io_functions_t){ .read = broken });
	struct runs *runs = NULL;
	struct err err;
	assert_int_equal(runs_read(in, "disk", NULL, &runs, &err), -EIO);
	assert_non_null(strstr(err.text, "disk: cannot be read"));
}

static void a_million_rows_are_read(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, "threads,repeat,time\n");
	for (int i = 0; i < 1000000; i++)
		strbuf_addf(&text, "%d,%d,%d.25\n", 1 + i % 64, i / 64, 1 + i % 100);
	assert_int_equal(strbuf_failed(&text), 0);
	AUTO(runs) struct runs *runs = expect_runs(text.text);
	assert_int_equal(runs->row_count, 1000000);
	assert_int_equal(runs->note_count, 0);
}

static void a_set_is_built_by_hand(void **state)
{
	(void)state;
	const char *const names[] = { "a", "b" };
	AUTO(runs) struct runs *runs = runs_new(METRIC_TIME, names, 2);
	assert_non_null(runs);
	double stalls[] = { 1, 2 };
	struct runs_row row = { .threads = 3, .value = 4, .rss_bytes = NAN, .stalls = stalls };
	assert_int_equal(runs_append(runs, &row), 0);
	stalls[0] = 99;
	assert_true(runs->rows[0].stalls[0] == 1);
	assert_int_equal(runs_add_note(runs, "%d notes", 1), 0);
	assert_string_equal(runs->notes[0], "1 notes");
	assert_string_equal(metric_name(runs->metric), "time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_column_is_read),
		cmocka_unit_test(every_column_of_ours_is_read_and_others_are_ignored),
		cmocka_unit_test(rows_are_repeats_in_order_without_a_repeat_column),
		cmocka_unit_test(nan_beside_the_value_is_not_measured),
		cmocka_unit_test(throughput_wins_unless_time_is_asked_for),
		cmocka_unit_test(a_value_column_takes_the_metric_that_is_asked_for),
		cmocka_unit_test(an_asked_metric_that_is_not_there_is_refused),
		cmocka_unit_test(line_ends_and_a_byte_order_mark_do_not_matter),
		cmocka_unit_test(quoted_fields_may_hold_commas_and_quotes),
		cmocka_unit_test(a_failed_run_is_skipped_with_a_note),
		cmocka_unit_test(what_measure_remarked_is_kept),
		cmocka_unit_test(a_row_that_is_there_twice_is_noted),
		cmocka_unit_test(files_without_rows_are_refused),
		cmocka_unit_test(headers_that_are_not_ours_are_refused),
		cmocka_unit_test(values_that_are_not_measurements_are_refused_with_the_place),
		cmocka_unit_test(counts_beside_the_value_are_checked),
		cmocka_unit_test(binary_files_are_refused),
		cmocka_unit_test(an_endless_line_is_refused_early),
		cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
		cmocka_unit_test(a_million_rows_are_read),
		cmocka_unit_test(a_set_is_built_by_hand),
	};
	return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}
