/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated settings as figures, and as a page with heat maps. */
#include "report/simulated.h"

#include "base/cleanup.h"
#include "report/markup.h"
#include "report/page.h"

#include <math.h>
#include <string.h>

enum { LINES_MAX = 7, CELLS = 8 };

/* The axis with the most values, and the one with the most of the others (SIZE_MAX: none has several). */
static void find_axes(const struct simulated *simulated, size_t *ret_first, size_t *ret_second)
{
	const struct grid *grid = simulated->grid;
	*ret_first = *ret_second = SIZE_MAX;
	for (size_t i = 0; i < grid->axis_count; i++)
		if (grid->axes[i].count > 1 &&
			(*ret_first == SIZE_MAX ||
				grid->axes[i].count > grid->axes[*ret_first].count))
			*ret_first = i;
	for (size_t i = 0; i < grid->axis_count; i++)
		if (i != *ret_first && grid->axes[i].count > 1 &&
			(*ret_second == SIZE_MAX ||
				grid->axes[i].count > grid->axes[*ret_second].count))
			*ret_second = i;
}

/* The setting with these indices on two axes and the first value of every other. */
static size_t setting_at(const struct grid *grid, size_t first, size_t i, size_t second, size_t k)
{
	size_t setting = 0;
	for (size_t axis = 0; axis < grid->axis_count; axis++) {
		size_t index = axis == first ? i : axis == second ? k : 0;
		setting = setting * grid->axes[axis].count + index;
	}
	return setting;
}

static void add_head(
	struct strbuf *out, const struct simulated *simulated, size_t axis, size_t index)
{
	const struct grid_axis *of = &simulated->grid->axes[axis];
	char text[MODEL_FORMAT_BYTES];
	model_format(of->values[index], simulated->model->parameters[of->parameter].unit, text);
	strbuf_add(out, "<th scope=\"col\">");
	markup_add(out, text);
	strbuf_add(out, "</th>");
}

static void add_value_text(
	struct strbuf *out, const struct simulated *simulated, size_t axis, size_t index)
{
	const struct grid_axis *of = &simulated->grid->axes[axis];
	const struct model_parameter *parameter = &simulated->model->parameters[of->parameter];
	char text[MODEL_FORMAT_BYTES];
	model_format(of->values[index], parameter->unit, text);
	strbuf_addf(out, "%s=%s", parameter->name, text);
}

/* The indices of an axis's values in ascending order. */
static void sort_axis(const struct grid_axis *axis, size_t *order)
{
	for (size_t i = 0; i < axis->count; i++) {
		size_t at = i;
		for (; at > 0 && axis->values[order[at - 1]] > axis->values[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

static void add_line(struct figure *figure, const struct simulated *simulated,
	const struct goal_metric *metric, const size_t *order, const size_t axes[2], size_t line)
{
	const struct grid *grid = simulated->grid;
	size_t count = grid->axes[axes[0]].count;
	AUTO_RELEASE(strbuf) struct strbuf name = { 0 };
	if (axes[1] == SIZE_MAX)
		strbuf_add(&name, metric->title);
	else
		add_value_text(&name, simulated, axes[1], line);
	for (int is_line = 0; is_line < 2; is_line++) {
		struct series *series = figure_add(figure, is_line ? SERIES_LINE : SERIES_BAND,
			(unsigned)line, is_line && name.text ? name.text : "95% interval", count);
		for (size_t i = 0; i < count; i++) {
			size_t at = setting_at(grid, axes[0], order[i], axes[1], line);
			const struct simulated_setting *setting = &simulated->settings[at];
			const struct estimate *value = goal_metric_of(metric, setting);
			double x = grid->axes[axes[0]].values[order[i]];
			if (setting->code < 0)
				continue;
			if (is_line)
				series_add(series, x, value->mean, 0);
			else
				series_add(series, x, fmax(value->low, 0), value->high);
		}
	}
}

/* Whether the values can only be read on a logarithmic axis: palette.h. */
static bool is_steep(const struct simulated *simulated, const struct goal_metric *metric)
{
	double low = INFINITY, high = 0;
	for (size_t i = 0; i < simulated->count; i++) {
		double value = goal_metric_of(metric, &simulated->settings[i])->mean;
		if (simulated->settings[i].code < 0 || !(value > 0))
			continue;
		low = fmin(low, value);
		high = fmax(high, value);
	}
	return metric->unit == MODEL_TIME && high / low > 20;
}

/* Workers, cores: half of one is no tick. */
static bool are_whole(const struct grid_axis *axis)
{
	for (size_t i = 0; i < axis->count; i++)
		if (axis->values[i] != floor(axis->values[i]))
			return false;
	return true;
}

static void fill_figure(struct figure *figure, const struct simulated *simulated,
	const struct goal_metric *metric, const char *subject)
{
	size_t axes[2];
	find_axes(simulated, &axes[0], &axes[1]);
	const struct grid_axis *x = &simulated->grid->axes[axes[0]];
	AUTO_FREE size_t *order = calloc(x->count, sizeof *order);
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	if (!order) {
		figure->failed = true;
		return;
	}
	sort_axis(x, order);
	const struct model_parameter *parameter = &simulated->model->parameters[x->parameter];
	figure->x = (struct axis){ .title = parameter->name,
		.is_threads = parameter->unit == MODEL_NUMBER && are_whole(x),
		.quantity = parameter->unit == MODEL_TIME   ? QUANTITY_TIME
			    : parameter->unit == MODEL_RATE ? QUANTITY_RATE
							    : QUANTITY_COUNT };
	axis_fit(&figure->x, x->values[order[0]], x->values[order[x->count - 1]]);
	figure->y = (struct axis){ .title = metric->title,
		.is_log = is_steep(simulated, metric),
		.quantity = metric->unit == MODEL_TIME   ? QUANTITY_TIME
			    : metric->unit == MODEL_RATE ? QUANTITY_RATE
							 : QUANTITY_COUNT };
	strbuf_addf(&text, "%s: %s over %s", subject, metric->title, parameter->name);
	figure_set(figure, &figure->title, text.text ? text.text : "");
	figure_set(figure, &figure->summary, text.text ? text.text : "");
	size_t lines = axes[1] == SIZE_MAX ? 1 : simulated->grid->axes[axes[1]].count;
	for (size_t i = 0; i < lines && i < LINES_MAX; i++)
		add_line(figure, simulated, metric, order, axes, i);
	figure_fit(figure);
}

static const struct goal_metric *throughput(void)
{
	const struct goal_metric *metric = goal_metrics;
	while (strcmp(metric->name, "throughput") != 0)
		metric++;
	return metric;
}

void report_simulated_svg(
	struct strbuf *out, const struct simulated *simulated, const char *subject)
{
	struct figure figures[2] = { 0 };
	size_t count = 1 + simulated->has_requests;
	fill_figure(&figures[0], simulated, simulated_main_metric(simulated), subject);
	if (simulated->has_requests)
		fill_figure(&figures[1], simulated, throughput(), subject);
	figure_svg(out, figures, count, false);
	for (size_t i = 0; i < count; i++)
		figure_release(&figures[i]);
}

/* Where a value stands between the least and the most of all settings, 0 to 1, on a logarithmic scale. */
static double position(
	const struct simulated *simulated, const struct goal_metric *metric, double value)
{
	double low = INFINITY, high = 0;
	for (size_t i = 0; i < simulated->count; i++) {
		double other = goal_metric_of(metric, &simulated->settings[i])->mean;
		if (simulated->settings[i].code == 0 && other > 0) {
			low = fmin(low, other);
			high = fmax(high, other);
		}
	}
	return value > 0 && high > low ? log(value / low) / log(high / low) : 0;
}

static void add_cell(struct strbuf *out, const struct simulated *simulated,
	const struct goal_metric *metric, size_t index)
{
	const struct simulated_setting *setting = &simulated->settings[index];
	double value = goal_metric_of(metric, setting)->mean;
	if (setting->code < 0 || !isfinite(value)) {
		strbuf_add(out, "<td>-</td>");
		return;
	}
	/* The palette's vermilion, so faint that ink stays readable on it. */
	strbuf_addf(out, "<td style=\"background:rgba(213,94,0,%.2f)\"%s>",
		0.6 * position(simulated, metric, value),
		index == simulated->best ? " class=\"best\"" : "");
	if (index == simulated->best)
		strbuf_add(out, "<strong>");
	markup_add(out, simulated_format(metric, value).text);
	if (index == simulated->best)
		strbuf_add(out, "</strong>");
	strbuf_add(out, "</td>");
}

static void add_heat_map(
	struct strbuf *out, const struct simulated *simulated, const struct goal_metric *metric)
{
	size_t first, second;
	find_axes(simulated, &first, &second);
	if (second == SIZE_MAX)
		return;
	const struct grid *grid = simulated->grid;
	strbuf_add(out, "<h3>Heat map: ");
	markup_add(out, metric->title);
	strbuf_add(out, " over ");
	markup_add(out, simulated->model->parameters[grid->axes[first].parameter].name);
	strbuf_add(out, "</h3>\n<div class=\"wide\"><table>\n<thead><tr><td></td>");
	for (size_t i = 0; i < grid->axes[first].count; i++)
		add_head(out, simulated, first, i);
	strbuf_add(out, "</tr></thead>\n<tbody>\n");
	for (size_t k = 0; k < grid->axes[second].count; k++) {
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		add_value_text(&text, simulated, second, k);
		strbuf_add(out, "<tr><th scope=\"row\">");
		markup_add(out, text.text ? text.text : "");
		strbuf_add(out, "</th>");
		for (size_t i = 0; i < grid->axes[first].count; i++)
			add_cell(out, simulated, metric, setting_at(grid, first, i, second, k));
		strbuf_add(out, "</tr>\n");
	}
	strbuf_add(out, "</tbody>\n</table></div>\n");
}

static void add_metric(struct strbuf *out, const struct simulated *simulated,
	const struct goal_metric *metric, const char *subject)
{
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	fill_figure(&figure, simulated, metric, subject);
	page_figure(out, &figure);
	add_heat_map(out, simulated, metric);
}

static void add_table(struct strbuf *out, const struct simulated *simulated)
{
	static const char *const heads[CELLS] = { "setting", "time", "99%", "served", "errors",
		"dropped", "cores busy", "busiest" };
	const struct goal_metric *metric = simulated_main_metric(simulated);
	page_words_table_begin(out, heads, CELLS);
	for (size_t i = 0; i < simulated->count; i++) {
		const struct simulated_setting *setting = &simulated->settings[i];
		AUTO_RELEASE(strbuf) struct strbuf name = { 0 }, busiest = { 0 };
		simulated_add_setting(&name, simulated, i);
		if (setting->code < 0) {
			page_table_row(out,
				(const char *const[]){ name.text ? name.text : "-", "not simulated",
					"", "", "", "", "", "" },
				CELLS);
			continue;
		}
		size_t object = simulated_busiest(simulated, setting);
		if (object != SIZE_MAX)
			strbuf_addf(&busiest, "%s, %.0f%%", simulated->model->objects[object].name,
				100 * setting->objects[object].utilisation.mean);
		const struct goal_metric share = { .unit = MODEL_NUMBER };
		struct quantity_text errors = simulated_format(&share, setting->error_share.mean);
		struct quantity_text dropped =
			simulated_format(&share, setting->dropped_share.mean);
		struct quantity_text cores = simulated_format(&share, setting->cores.mean);
		page_table_row(out,
			(const char *const[]){ name.text ? name.text : "-",
				simulated_format(metric, goal_metric_of(metric, setting)->mean)
					.text,
				quantity_format(QUANTITY_TIME, setting->p99_s.mean).text,
				quantity_format(QUANTITY_RATE, setting->throughput_per_s.mean).text,
				errors.text, dropped.text, cores.text,
				busiest.text ? busiest.text : "-" },
			CELLS);
	}
	page_table_end(out);
}

void report_simulated_html(
	struct strbuf *out, const struct simulated *simulated, const char *subject)
{
	AUTO_RELEASE(strbuf) struct strbuf title = { 0 }, findings = { 0 };
	const struct model_recorded *notes = &simulated->notes->recorded;
	strbuf_addf(&title, "%s: simulated settings", subject);
	simulated_add_best(&findings, simulated);
	if (findings.text)
		strbuf_add(&findings, "\n");
	simulated_add_method(&findings, simulated);
	for (size_t i = 0; i < notes->note_count; i++)
		strbuf_addf(&findings, "\n%s", notes->notes[i]);
	page_begin(out, title.text ? title.text : "");
	page_findings(out, findings.text ? findings.text : "");
	if (simulated_has_figure(simulated)) {
		page_section(out, "Over the settings");
		add_metric(out, simulated, simulated_main_metric(simulated), subject);
		if (simulated->has_requests)
			add_metric(out, simulated, throughput(), subject);
	}
	page_section(out, "All settings");
	add_table(out, simulated);
	page_end(out, "corecast " CORECAST_VERSION ".");
}
