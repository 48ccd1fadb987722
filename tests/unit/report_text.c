/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports for a terminal: the same text every time, within the width, whatever the numbers are. */
#include "report_fixture.h"

#include "report/axis.h"
#include "report/report.h"

#include <string.h>

static void expect_text(const struct forecast *f, const struct text_style *style, const char *text)
{
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	report_forecast_text(&out, f, style);
	assert_int_equal(strbuf_failed(&out), 0);
	assert_string_equal(out.text, text);
}

static void expect_lines_within(const char *text, size_t width)
{
	for (const char *line = text; *line;) {
		size_t length = strcspn(line, "\n");
		AUTO_FREE char *copy = strndup(line, length);
		assert_non_null(copy);
		if (text_columns(copy) > width)
			fail_msg("wider than %zu: '%s'", width, copy);
		if (length > 0)
			assert_int_not_equal(copy[length - 1], ' ');
		line += length + (line[length] == '\n');
	}
}

static void a_forecast_is_this_text(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 48, 12, 100);
	fixture_add_stalls(f, "memory", "lock");
	assert_int_equal(forecast_add_note(f, "Only 4 of 48 counts were measured."), 0);
	expect_text(f, &(struct text_style){ .width = 80, .is_utf8 = true },
		"With 48 threads, expect 16.4 s (90% interval 14.7 s to 18.0 s): 6.11 times as\n"
		"fast as one thread.\n"
		"It stops scaling at 22 threads (13.5 s); at 48 it is 17% slower than there.\n"
		"At 48 threads the most time is lost to lock: 83% of all stalls (55% at 12).\n"
		"The highest measured count is 12; the target is 4 times that.\n"
		"\n"
		" time\n"
		"       │░\n"
		" 100 s ┤●⢄░░\n"
		"       │░░⠉⠢⣀░░\n"
		"       │   ░░⠑⠢⣀░░\n"
		"       │      ░░⠑⠢⡀░░\n"
		"       │         ░⠈⠑●⡀░░\n"
		"  50 s ┤            ░⠈⠑⠤⡀░░\n"
		"       │              ░░⠈⠑⠤⣀░░\n"
		"       │                  ░░⠑⠢⣀░░\n"
		"       │                     ░░⠉⠢●⡀░░\n"
		"       │                        ░░⠈⠒⠤⣀░░\n"
		"       │                           ░░░⠉⠒⠤⣀░░░\n"
		"  20 s ┤                               ░░░⠉⠒⠤⣀●░░\n"
		"       │                                   ░░░⠉⠑⠢⠤⣀⡀░░░░                ░░░░░⣀⡠\n"
		"       │                                        ░░░⠈⠉⠒⠒⠤⠤⢄⣀⣀⣀⡀░░░░░⢀⣀⣀⣀⠤⠤⠔⠒⠊⠉░░\n"
		"       │                                             ░░░░░░░░⠈⠉⠉⠉⠉⠉⠁░░░░░░░\n"
		"       └┬───────────┬────────────┬────────────┬───────────┬────────────┬──────┬\n"
		"        1           2            4            8          16           32     48\n"
		"                                        threads\n"
		"        ● measured   ⠒⠒⠒⠒⠒ forecast   ░ 90% interval\n"
		"\n"
		" threads    forecast           90% interval    measured   speedup  efficiency\n"
		"       1       100 s        90.0 s to 110 s       100 s      1.00        100%\n"
		"       2      52.7 s       47.4 s to 58.0 s      52.7 s      1.90         95%\n"
		"       4      29.3 s       26.4 s to 32.3 s      29.3 s      3.41         85%\n"
		"       8      18.3 s       16.4 s to 20.1 s      18.3 s      5.47         68%\n"
		"      12      15.1 s       13.6 s to 16.6 s                  6.62         55%\n"
		"      16      13.9 s       12.5 s to 15.3 s                  7.17         45%\n"
		"      22      13.5 s       12.2 s to 14.9 s                  7.40         34%\n"
		"      32      14.2 s       12.8 s to 15.6 s                  7.06         22%\n"
		"      48      16.4 s       14.7 s to 18.0 s                  6.11         13%\n"
		"\n"
		"Share of all stalls at 48 threads (at 12, the highest measured)\n"
		"  memory                     ██████                           17.2% (45.5%)\n"
		"  lock                       ██████████████████████████       82.8% (54.5%)\n"
		"\n"
		"Notes\n"
		"  - Only 4 of 48 counts were measured.\n"
		"\n"
		"Method: auto\n");
}

static void without_utf8_it_is_ascii(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_THROUGHPUT, 24, 8, 1e3);
	assert_int_equal(forecast_add_note(f, "A µs is 10× less – “small”, 小."), 0);
	expect_text(f, &(struct text_style){ .width = 60 },
		"With 24 threads, expect a throughput of 7.38k/s (90%\n"
		"interval 6.64k/s to 8.11k/s): 7.38 times as fast as one\n"
		"thread.\n"
		"It stops scaling at 22 threads (7.40k/s); 24 are no faster.\n"
		"The highest measured count is 8; the target is 3 times that.\n"
		"\n"
		" throughput\n"
		"      |\n"
		" 8k/s +                                   .................\n"
		"      |                           ..............***********\n"
		"      |                      ......**************..........\n"
		"      |                  ....******........................\n"
		" 6k/s +                ..*****.......\n"
		"      |             ..**o*....\n"
		"      |           ..***..\n"
		" 4k/s +         .***..\n"
		"      |        o**.\n"
		"      |      .**.\n"
		"      |     **.\n"
		" 2k/s +    o*\n"
		"      |  **\n"
		"      |  o\n"
		"    0 +\n"
		"      ++----------------+----------------+----------------+\n"
		"       0                8               16               24\n"
		"                             threads\n"
		"       o measured   ***** forecast   . 90% interval\n"
		"\n"
		" threads    forecast           90% interval    measured\n"
		"       1     1.00k/s       900/s to 1.10k/s     1.00k/s\n"
		"       2     1.90k/s     1.71k/s to 2.09k/s     1.90k/s\n"
		"       4     3.41k/s     3.07k/s to 3.75k/s     3.41k/s\n"
		"       8     5.47k/s     4.92k/s to 6.02k/s     5.47k/s\n"
		"      16     7.17k/s     6.46k/s to 7.89k/s\n"
		"      22     7.40k/s     6.66k/s to 8.14k/s\n"
		"      24     7.38k/s     6.64k/s to 8.11k/s\n"
		"\n"
		"Notes\n"
		"  - A us is 10x less - \"small\", ?.\n"
		"\n"
		"Method: auto\n");
}

static struct strbuf text_of(const struct forecast *f)
{
	struct strbuf out = { 0 };
	report_forecast_text(&out, f, &(struct text_style){ .width = 200 });
	assert_int_equal(strbuf_failed(&out), 0);
	return out;
}

static void what_was_not_measured_is_not_compared_with(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 16, 8, 100);
	f->points[0].measured = NAN;
	AUTO_RELEASE(strbuf) struct strbuf out = text_of(f);
	assert_non_null(strstr(out.text, "3.78 times as fast as 2 threads.\n"));
}

static void who_does_not_scale_is_told_so(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 8, 4, 100);
	for (size_t i = 0; i < f->point_count; i++)
		f->points[i].value = 100 + (double)(i * i);
	f->points[1].value = 98;
	f->best_threads = f->stops_scaling_at = 2;
	AUTO_RELEASE(strbuf) struct strbuf out = text_of(f);
	assert_non_null(strstr(out.text, "It hardly scales: it is fastest at 2 threads (98.0 s), "
					 "by 2%; at 8 it is 34% slower than there.\n"));
}

static void who_is_fastest_alone_is_compared_once(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 8, 4, 100);
	for (size_t i = 0; i < f->point_count; i++)
		f->points[i].value = f->points[i].measured = 100 + (double)(i * i);
	f->best_threads = f->stops_scaling_at = 1;
	AUTO_RELEASE(strbuf) struct strbuf slower = text_of(f);
	assert_non_null(
		strstr(slower.text, ": one thread is 1.49 times as fast.\n"
				    "It does not scale: no count is faster than one thread.\n"));
	for (size_t i = 0; i < f->point_count; i++)
		f->points[i].value = f->points[i].measured = 100 - 0.01 * (double)i;
	f->best_threads = f->stops_scaling_at = 2;
	AUTO_RELEASE(strbuf) struct strbuf flat = text_of(f);
	assert_non_null(
		strstr(flat.text, ": as fast as one thread.\n"
				  "It does not scale: no count is faster than one thread.\n"));
}

static void long_names_keep_their_ends(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	text_add_left(&out, "worker-with-a-long-name-017", 15);
	text_add_left(&out, "short", 8);
	text_add_name(&out, "main > run > step (a/very/long/folder/file.c:23)", 36);
	text_add_left(&out, "工作线程-工作线程", 10);
	text_add_left(&out, "abc", 2);
	text_add_left(&out, "abc", 0);
	assert_string_equal(out.text, "worker-wi…e-017"
				      "short   "
				      "main > run > step (a/ve…r/file.c:23)"
				      "工作线…程 "
				      "a…");
}

static void colour_adds_nothing_but_colour(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 48, 12, 100);
	AUTO_RELEASE(strbuf) struct strbuf plain = { 0 }, colour = { 0 }, stripped = { 0 };
	report_forecast_text(&plain, f, &(struct text_style){ .is_utf8 = true });
	report_forecast_text(
		&colour, f, &(struct text_style){ .is_utf8 = true, .has_colour = true });
	assert_null(strchr(plain.text, '\033'));
	assert_non_null(strchr(colour.text, '\033'));
	for (const char *p = colour.text; *p; p++) {
		if (*p == '\033')
			p = strchr(p, 'm');
		else
			strbuf_add_bytes(&stripped, p, 1);
	}
	assert_string_equal(stripped.text, plain.text);
}

static void any_width_is_kept(void **state)
{
	(void)state;
	static const unsigned widths[] = { 40, 57, 80, 200 };
	static const uint32_t targets[] = { 1, 2, 3, 48, 1024, 65536 };
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		AUTO(forecast)
		struct forecast *f = fixture_forecast(METRIC_TIME, targets[i], 12, 100);
		fixture_add_stalls(f, "a name that is much longer than its column", HOSTILE);
		assert_int_equal(forecast_add_note(f, "%s", HOSTILE), 0);
		for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
			AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
			report_forecast_text(&out, f,
				&(struct text_style){ .width = widths[k], .is_utf8 = true });
			assert_int_equal(strbuf_failed(&out), 0);
			assert_null(strchr(out.text, '\033'));
			expect_lines_within(out.text, widths[k]);
		}
	}
}

static void a_comparison_fits_and_says_who_is_faster(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *a = fixture_forecast(METRIC_TIME, 48, 12, 100);
	AUTO(forecast) struct forecast *b = fixture_forecast(METRIC_TIME, 48, 12, 50);
	struct comparison c = { a, b, "locks.csv", "transactions.csv", 0 };
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	report_comparison_text(&out, &c, &(struct text_style){ .is_utf8 = true });
	expect_lines_within(out.text, 80);
	assert_non_null(strstr(out.text, "transactions.csv is 2 times as fast as locks.csv"));
	assert_non_null(strstr(out.text, "order does not change"));
	assert_null(strstr(out.text, "not certain"));
}

static void extreme_values_are_drawn(void **state)
{
	(void)state;
	for (int metric = METRIC_TIME; metric <= METRIC_THROUGHPUT; metric++) {
		AUTO(forecast)
		struct forecast *f = fixture_forecast((enum metric)metric, 64, 4, 1e-9);
		f->points[63].value = 1e12;
		f->points[63].high = (double)INFINITY;
		f->points[62].low = 0;
		f->points[61].low = f->points[61].high = (double)NAN;
		AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
		report_forecast_text(&out, f, &(struct text_style){ .is_utf8 = true });
		assert_int_equal(strbuf_failed(&out), 0);
		expect_lines_within(out.text, 80);
		assert_null(strstr(out.text, "nan"));
		assert_null(strstr(out.text, "inf"));
	}
}

static void expect_quantity(enum quantity quantity, double value, const char *text)
{
	assert_string_equal(quantity_format(quantity, value).text, text);
}

static void quantities_have_the_unit_that_reads_best(void **state)
{
	(void)state;
	expect_quantity(QUANTITY_TIME, 0, "0 s");
	expect_quantity(QUANTITY_TIME, 2.5e-9, "2.50 ns");
	expect_quantity(QUANTITY_TIME, 999e-6, "999 µs");
	expect_quantity(QUANTITY_TIME, 0.0123, "12.3 ms");
	expect_quantity(QUANTITY_TIME, 9.999, "10.0 s");
	expect_quantity(QUANTITY_COUNT, 40, "40");
	expect_quantity(QUANTITY_COUNT, 12.3, "12.3");
	expect_quantity(QUANTITY_COUNT, 1230, "1.23k");
	expect_quantity(QUANTITY_TIME, 90, "90.0 s");
	expect_quantity(QUANTITY_TIME, 300, "5.00 min");
	expect_quantity(QUANTITY_TIME, 36000, "10.0 h");
	expect_quantity(QUANTITY_TIME, 86400 * 30.0, "30.0 d");
	expect_quantity(QUANTITY_RATE, 0.0123, "0.0123/s");
	expect_quantity(QUANTITY_RATE, 0.00123, "4.43/h");
	expect_quantity(QUANTITY_RATE, 1.23e-5, "1.06/d");
	expect_quantity(QUANTITY_RATE, 0, "0/s");
	expect_quantity(QUANTITY_RATE, 1234, "1.23k/s");
	expect_quantity(QUANTITY_RATE, 5.6e6, "5.60M/s");
	expect_quantity(QUANTITY_TIME, (double)NAN, "-");
	expect_quantity(QUANTITY_TIME, (double)INFINITY, "∞");
}

/* Every axis has at least two ticks, in order, within its range, and none twice. */
static void axes_have_round_ticks(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++)
		for (double high = 1e-9; high < 1e12; high *= 3.7) {
			struct axis axis = { .is_log = kind & 1,
				.quantity = kind & 2 ? QUANTITY_TIME : QUANTITY_RATE };
			axis_fit(&axis, high / 300, high);
			assert_true(axis.low < axis.high && axis.high >= high * (1 - 1e-9));
			struct ticks ticks;
			axis_ticks(&axis, 6, &ticks);
			assert_in_range(ticks.count, 2, 6);
			for (unsigned i = 0; i < ticks.count; i++) {
				assert_true(ticks.at[i] <= axis.high * (1 + 1e-9));
				assert_true(i == 0 || ticks.at[i] > ticks.at[i - 1]);
				assert_true(i == 0 || strcmp(ticks.labels[i].text,
							      ticks.labels[i - 1].text) != 0);
			}
		}
}

static void bytes_that_are_not_utf8_are_replaced_one_by_one(void **state)
{
	(void)state;
	/* Overlong, surrogate, beyond the last code point, cut short: Unicode, section 3.9. */
	static const char *const wrong[] = { "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
		"\xE2\x82", "\x80" };
	static const size_t counts[] = { 2, 3, 4, 2, 1 };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
		text_add_clean(&out, wrong[i]);
		assert_int_equal(out.length, 3 * counts[i]);
		assert_int_equal(text_columns(out.text), counts[i]);
	}
	AUTO_RELEASE(strbuf) struct strbuf good = { 0 };
	text_add_clean(&good, "é€😀\tx");
	assert_string_equal(good.text, "é€😀 x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_forecast_is_this_text),
		cmocka_unit_test(without_utf8_it_is_ascii),
		cmocka_unit_test(what_was_not_measured_is_not_compared_with),
		cmocka_unit_test(who_does_not_scale_is_told_so),
		cmocka_unit_test(who_is_fastest_alone_is_compared_once),
		cmocka_unit_test(long_names_keep_their_ends),
		cmocka_unit_test(colour_adds_nothing_but_colour),
		cmocka_unit_test(any_width_is_kept),
		cmocka_unit_test(a_comparison_fits_and_says_who_is_faster),
		cmocka_unit_test(extreme_values_are_drawn),
		cmocka_unit_test(quantities_have_the_unit_that_reads_best),
		cmocka_unit_test(axes_have_round_ticks),
		cmocka_unit_test(bytes_that_are_not_utf8_are_replaced_one_by_one),
	};
	return cmocka_run_group_tests_name("report_text", tests, NULL, NULL);
}
