/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports for tools: JSON and CSV hold the contract whatever the forecast holds. */
#include "report_fixture.h"

#include "report/json.h"
#include "report/report.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

static json_t *parsed(const struct strbuf *text)
{
	json_error_t error;
	assert_int_equal(strbuf_failed(text), 0);
	json_t *root = json_loads(text->text, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		fail_msg("line %d: %s", error.line, error.text);
	return root;
}

static json_t *parsed_forecast(const struct forecast *f)
{
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	report_forecast_json(&out, f);
	return parsed(&out);
}

static void expect_keys(json_t *object, const char *const *keys)
{
	const char *key;
	json_t *value;
	size_t i = 0;
	json_object_foreach(object, key, value) assert_string_equal(key, keys[i++]);
	assert_null(keys[i]);
}

static void json_has_the_keys_of_the_contract_in_their_order(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 48, 12, 100);
	fixture_add_stalls(f, "memory", "lock");
	json_t *root = parsed_forecast(f);
	expect_keys(root, (const char *const[]){ "version", "method", "metric", "points",
				  "best_threads", "stops_scaling_at", "stalls", "notes", NULL });
	expect_keys(json_array_get(json_object_get(root, "points"), 0),
		(const char *const[]){ "threads", "value", "low", "high", "measured", NULL });
	expect_keys(json_array_get(json_object_get(root, "stalls"), 0),
		(const char *const[]){ "name", "share_at_target", NULL });
	assert_int_equal(json_integer_value(json_object_get(root, "version")), 1);
	assert_string_equal(json_string_value(json_object_get(root, "metric")), "time");
	assert_int_equal(json_integer_value(json_object_get(root, "best_threads")), 22);
	assert_int_equal(json_integer_value(json_object_get(root, "stops_scaling_at")), 22);
	json_decref(root);
}

static void json_numbers_are_read_back_exactly(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_THROUGHPUT, 1024, 12, 0.1);
	json_t *root = parsed_forecast(f);
	json_t *points = json_object_get(root, "points");
	assert_int_equal(json_array_size(points), 1024);
	for (size_t i = 0; i < 1024; i++) {
		json_t *p = json_array_get(points, i);
		assert_int_equal(json_integer_value(json_object_get(p, "threads")), i + 1);
		assert_true(json_real_value(json_object_get(p, "value")) == f->points[i].value);
		assert_true(json_real_value(json_object_get(p, "low")) == f->points[i].low);
		assert_true(json_real_value(json_object_get(p, "high")) == f->points[i].high);
		assert_int_equal(
			json_is_null(json_object_get(p, "measured")), isnan(f->points[i].measured));
	}
	json_decref(root);
}

static void what_is_not_a_number_is_null(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 2, 1, 1);
	f->points[1].low = (double)NAN;
	f->points[1].high = (double)INFINITY;
	json_t *root = parsed_forecast(f);
	json_t *p = json_array_get(json_object_get(root, "points"), 1);
	assert_true(json_is_null(json_object_get(p, "low")));
	assert_true(json_is_null(json_object_get(p, "high")));
	assert_true(json_is_null(json_object_get(root, "stops_scaling_at")));
	json_decref(root);
}

static void json_says_hostile_names_as_text(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 4, 2, 1);
	fixture_add_stalls(f, HOSTILE, "");
	assert_int_equal(forecast_add_note(f, "%s", HOSTILE), 0);
	json_t *root = parsed_forecast(f);
	static const char cleaned[] = "</script><b a='\"&\xEF\xBF\xBD[31m\xEF\xBF\xBD\xEF\xBF\xBD "
				      "]]>-->";
	json_t *stall = json_array_get(json_object_get(root, "stalls"), 0);
	assert_string_equal(json_string_value(json_object_get(stall, "name")), cleaned);
	json_t *note = json_array_get(json_object_get(root, "notes"), 0);
	assert_string_equal(json_string_value(note), cleaned);
	json_decref(root);
}

static void json_in_a_script_cannot_end_it(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	json_add_in_script(&out, json_text(HOSTILE "<!--"));
	assert_int_equal(strbuf_failed(&out), 0);
	assert_null(strpbrk(out.text, "<>&"));
	json_t *back = json_loads(out.text, JSON_DECODE_ANY, NULL);
	assert_non_null(back);
	assert_non_null(strstr(json_string_value(back), "</script><b a='\"&"));
	json_decref(back);
}

static void a_comparison_is_both_forecasts_and_their_ratio(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *a = fixture_forecast(METRIC_TIME, 8, 4, 10);
	AUTO(forecast) struct forecast *b = fixture_forecast(METRIC_TIME, 6, 4, 5);
	struct comparison c = { a, b, "a.csv", HOSTILE, 3 };
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	report_comparison_json(&out, &c);
	json_t *root = parsed(&out);
	expect_keys(root, (const char *const[]){
				  "version", "metric", "a", "b", "ratios", "crosses_at", NULL });
	json_t *ratios = json_object_get(root, "ratios");
	assert_int_equal(json_array_size(ratios), 6);
	json_t *ratio = json_object_get(json_array_get(ratios, 5), "speed_of_b_over_a");
	assert_true(fabs(json_real_value(ratio) - 2) < 1e-12); /* half the time: rounding only */
	assert_int_equal(json_integer_value(json_object_get(root, "crosses_at")), 3);
	json_decref(root);
}

static void csv_has_a_row_for_each_count_and_gaps_for_no_number(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 3, 1, 1);
	f->points[0] = (struct forecast_point){ 1, 0.5, 0.25, 1, 0.5 };
	f->points[1] =
		(struct forecast_point){ 2, 0.1, (double)NAN, (double)INFINITY, (double)NAN };
	f->points[2] = (struct forecast_point){ 3, 1e-9, 1e-10, 1e12, (double)NAN };
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	report_forecast_csv(&out, f);
	assert_string_equal(out.text, "threads,value,low,high,measured\n"
				      "1,0.5,0.25,1,0.5\n"
				      "2,0.10000000000000001,,,\n"
				      "3,1.0000000000000001e-09,1e-10,1000000000000,\n");
}

static void a_report_without_memory_is_not_written(void **state)
{
	(void)state;
	struct strbuf broken = { .failed = true };
	struct err err;
	assert_int_equal(report_write(&broken, stdout, &err), -ENOMEM);
	assert_non_null(strstr(err.text, "memory"));
}

static void a_failed_write_is_an_error(void **state)
{
	(void)state;
	AUTO_FILE FILE *full = fopen("/dev/full", "w");
	if (!full)
		skip();
	setvbuf(full, NULL, _IONBF, 0);
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, "text");
	struct err err;
	assert_int_equal(report_write(&text, full, &err), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_the_keys_of_the_contract_in_their_order),
		cmocka_unit_test(json_numbers_are_read_back_exactly),
		cmocka_unit_test(what_is_not_a_number_is_null),
		cmocka_unit_test(json_says_hostile_names_as_text),
		cmocka_unit_test(json_in_a_script_cannot_end_it),
		cmocka_unit_test(a_comparison_is_both_forecasts_and_their_ratio),
		cmocka_unit_test(csv_has_a_row_for_each_count_and_gaps_for_no_number),
		cmocka_unit_test(a_report_without_memory_is_not_written),
		cmocka_unit_test(a_failed_write_is_an_error),
	};
	return cmocka_run_group_tests_name("report_data", tests, NULL, NULL);
}
