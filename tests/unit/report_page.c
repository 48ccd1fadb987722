/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SVG and HTML: well-formed, self-contained, and no name from a file becomes markup. */
#include "report_fixture.h"

#include "report/forecast_view.h"
#include "report/page.h"
#include "report/report.h"

#include <jansson.h>
#include <string.h>

/* The five entities that XML has, and character references. */
static bool is_entity(const char *p)
{
	static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(p, known[i], strlen(known[i])) == 0)
			return true;
	return false;
}

/* The end of a tag that starts at p; its attributes have quotes and hold neither '<' nor a bare '&'. */
static const char *tag_end(const char *p)
{
	for (char quote = 0; *p; p++) {
		if (*p == '&')
			assert_true(is_entity(p));
		if (quote && *p == quote)
			quote = 0;
		else if (quote)
			assert_int_not_equal(*p, '<');
		else if (*p == '"')
			quote = *p;
		else if (*p == '>')
			return p;
	}
	fail_msg("a tag does not end");
	return NULL;
}

/* Every tag is closed in order, and text holds only entities. */
static void expect_well_formed(const char *text)
{
	struct {
		const char *name;
		size_t length;
	} open[16];
	size_t depth = 0;
	for (const char *p = text; *p; p++) {
		if (*p == '&')
			assert_true(is_entity(p));
		assert_int_not_equal(*p, '>');
		if (*p != '<')
			continue;
		const char *name = p + 1 + (p[1] == '/');
		size_t length = strcspn(name, " >/\n");
		const char *end = tag_end(p);
		if (p[1] == '/') {
			assert_true(depth > 0 && open[depth - 1].length == length);
			assert_memory_equal(open[--depth].name, name, length);
		} else if (p[1] != '?' && end[-1] != '/') {
			assert_true(depth < sizeof open / sizeof *open);
			open[depth].name = name;
			open[depth++].length = length;
		}
		p = end;
	}
	assert_int_equal(depth, 0);
}

static size_t count_of(const char *text, const char *what)
{
	size_t count = 0;
	for (const char *p = text; (p = strstr(p, what)); p++)
		count++;
	return count;
}

static void an_svg_is_well_formed_whatever_the_names(void **state)
{
	(void)state;
	static const uint32_t targets[] = { 1, 2, 48, 1024, 65536 };
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
		for (int metric = METRIC_TIME; metric <= METRIC_THROUGHPUT; metric++) {
			AUTO(forecast)
			struct forecast *f =
				fixture_forecast((enum metric)metric, targets[i], 12, 1e-3);
			fixture_add_stalls(f, HOSTILE, "b");
			AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
			report_forecast_svg(&out, f, HOSTILE);
			assert_int_equal(strbuf_failed(&out), 0);
			expect_well_formed(out.text);
			assert_null(strstr(out.text, "nan"));
			assert_null(strstr(out.text, "inf"));
			assert_null(strstr(out.text, "<b a="));
			/* Far more counts than pixels do not make it large. */
			assert_true(out.length < 200000);
		}
}

static void an_svg_shows_what_was_measured_and_what_is_predicted(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 48, 8, 100);
	fixture_add_stalls(f, "memory", "lock");
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	report_forecast_svg(&out, f, "runs.csv");
	assert_int_equal(count_of(out.text, "class=\"band\""), 1);
	assert_int_equal(count_of(out.text, "class=\"line\""), 3); /* one for each category */
	assert_int_equal(count_of(out.text, "class=\"mark\""), 4 + 1); /* and the legend's */
	assert_non_null(strstr(out.text, ">measured up to 8<"));
	assert_null(strstr(out.text, "var(")); /* which only browsers know */
	assert_non_null(strstr(out.text, ">stops scaling at 22<"));
	assert_non_null(strstr(out.text, ">100 s<"));
}

/* `measure --sync-stalls` has a column for each kind of waiting. */
static void stalls_have_their_unit_and_what_never_was_is_not_shown(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 8, 4, 100);
	const double never[8] = { 0 };
	assert_int_equal(forecast_add_stall(f, "barrier", never), 0);
	AUTO_RELEASE(strbuf) struct strbuf none = { 0 }, svg = { 0 }, html = { 0 }, text = { 0 };
	report_forecast_svg(&none, f, "runs.csv");
	assert_null(strstr(none.text, "Stalls by category"));
	fixture_add_stalls(f, "memory", "lock");
	f->has_stall_seconds = true;
	report_forecast_svg(&svg, f, "runs.csv");
	assert_null(strstr(svg.text, "barrier"));
	assert_non_null(strstr(svg.text, ">80 s<"));
	report_forecast_html(&html, f, "runs.csv");
	assert_null(strstr(html.text, "<th scope=\"row\">barrier"));
	assert_null(strstr(html.text, "\"barrier\""));
	report_forecast_text(&text, f, &(struct text_style){ .width = 80 });
	assert_null(strstr(text.text, "barrier"));
	assert_non_null(strstr(text.text, "  memory "));
}

static void values_without_a_number_leave_gaps(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 4, 2, 1);
	for (size_t i = 0; i < 4; i++) {
		f->points[i].low = (double)NAN;
		f->points[i].high = (double)INFINITY;
	}
	AUTO_RELEASE(strbuf) struct strbuf svg = { 0 }, html = { 0 };
	report_forecast_svg(&svg, f, "x");
	report_forecast_html(&html, f, "x");
	expect_well_formed(svg.text);
	assert_null(strstr(svg.text, "nan"));
	assert_int_equal(strbuf_failed(&html), 0);
}

/* All of the page but Vega-Lite itself. */
static void cut_bundle(struct strbuf *page)
{
	char *bundle = strstr(page->text, "<script>\n");
	if (bundle)
		*bundle = '\0';
}

static void a_page_fetches_nothing_and_shows_hostile_names_as_text(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 48, 12, 100);
	fixture_add_stalls(f, HOSTILE, "lock");
	assert_int_equal(forecast_add_note(f, "%s", HOSTILE), 0);
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	report_forecast_html(&out, f, HOSTILE);
	assert_int_equal(strbuf_failed(&out), 0);
	assert_int_equal(count_of(out.text, "<script"), count_of(out.text, "</script>"));
	cut_bundle(&out);
	assert_null(strstr(out.text, "<b a="));
	assert_null(strstr(out.text, "src="));
	assert_null(strstr(out.text, "href="));
	assert_null(strstr(out.text, "url("));
	assert_null(strstr(out.text, "@import"));
	assert_non_null(strstr(out.text, "default-src 'none'"));
}

static void a_page_without_charts_says_how_to_get_them(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 48, 12, 100);
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	report_forecast_html(&out, f, "runs.csv");
	cut_bundle(&out);
	assert_int_equal(count_of(out.text, "<svg xmlns="), 1);
	bool has_charts = report_has_charts();
	assert_int_equal(count_of(out.text, "application/json"), has_charts);
	/* The footer stands before the bundle. */
	assert_int_equal(strstr(out.text, "install npm") == NULL, has_charts);
}

static void a_specification_holds_every_point_and_its_text(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *f = fixture_forecast(METRIC_TIME, 48, 12, 100);
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	figure_of_forecast(&figure, f, HOSTILE);
	json_t *spec = figure_vega(&figure);
	assert_non_null(spec);
	json_t *layers = json_object_get(spec, "layer");
	/* Two rules with their names, band, line, marks, pointer. */
	assert_int_equal(json_array_size(layers), 2 * 2 + 3 + 1);
	json_t *line = json_array_get(layers, 3);
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(line, "data"), "values")), 48);
	json_t *pointer = json_array_get(layers, 7);
	json_t *row =
		json_array_get(json_object_get(json_object_get(pointer, "data"), "values"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "s3")), "100 s");
	json_decref(spec);
}

static void a_comparison_has_both_curves_in_one_figure(void **state)
{
	(void)state;
	AUTO(forecast) struct forecast *a = fixture_forecast(METRIC_THROUGHPUT, 48, 8, 10);
	AUTO(forecast) struct forecast *b = fixture_forecast(METRIC_THROUGHPUT, 32, 4, 12);
	struct comparison c = { a, b, HOSTILE, "b", 7 };
	AUTO_RELEASE(strbuf) struct strbuf svg = { 0 }, html = { 0 };
	report_comparison_svg(&svg, &c);
	expect_well_formed(svg.text);
	assert_int_equal(count_of(svg.text, "class=\"line\""), 2);
	assert_int_equal(count_of(svg.text, "class=\"band\""), 2);
	assert_non_null(strstr(svg.text, ">cross at 7<"));
	report_comparison_html(&html, &c);
	assert_int_equal(strbuf_failed(&html), 0);
	assert_null(strstr(html.text, "<b a="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_svg_is_well_formed_whatever_the_names),
		cmocka_unit_test(an_svg_shows_what_was_measured_and_what_is_predicted),
		cmocka_unit_test(stalls_have_their_unit_and_what_never_was_is_not_shown),
		cmocka_unit_test(values_without_a_number_leave_gaps),
		cmocka_unit_test(a_page_fetches_nothing_and_shows_hostile_names_as_text),
		cmocka_unit_test(a_page_without_charts_says_how_to_get_them),
		cmocka_unit_test(a_specification_holds_every_point_and_its_text),
		cmocka_unit_test(a_comparison_has_both_curves_in_one_figure),
	};
	return cmocka_run_group_tests_name("report_page", tests, NULL, NULL);
}
