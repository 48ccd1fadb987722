/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What text, pages and figures of simulated settings say alike. */
#include "base/plural.h"
#include "report/simulated.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct goal_metric *find_metric(const char *name)
{
	const struct goal_metric *metric = goal_metrics;
	while (metric->name && strcmp(metric->name, name) != 0)
		metric++;
	return metric;
}

const struct goal_metric *simulated_main_metric(const struct simulated *simulated)
{
	if (simulated->has_requests)
		return find_metric("response");
	for (size_t i = 0; i < simulated->count; i++)
		if (simulated->settings[i].code == 0 &&
			isfinite(simulated->settings[i].iteration_s.mean))
			return find_metric("iteration");
	return find_metric("run");
}

bool simulated_has_figure(const struct simulated *simulated)
{
	for (size_t i = 0; i < simulated->grid->axis_count; i++)
		if (simulated->grid->axes[i].count > 1)
			return true;
	return false;
}

struct quantity_text simulated_format(const struct goal_metric *metric, double value)
{
	struct quantity_text text;
	if (metric->unit == MODEL_TIME)
		return quantity_format(QUANTITY_TIME, value);
	if (metric->unit == MODEL_RATE)
		return quantity_format(QUANTITY_RATE, value);
	if (isfinite(value))
		snprintf(text.text, sizeof text.text, "%.1f%%", 100 * value);
	else
		snprintf(text.text, sizeof text.text, "-");
	return text;
}

void simulated_add_best(struct strbuf *out, const struct simulated *simulated)
{
	if (simulated->why_none)
		strbuf_addf(out, "Goal '%s': %s.", simulated->goal, simulated->why_none);
	if (simulated->best == SIZE_MAX)
		return;
	const struct simulated_setting *best = &simulated->settings[simulated->best];
	const struct goal_metric *metric = simulated_main_metric(simulated);
	strbuf_addf(out, "Best for '%s': ", simulated->goal);
	if (simulated->grid->axis_count)
		simulated_add_setting(out, simulated, simulated->best);
	else
		strbuf_add(out, "the only setting");
	strbuf_addf(out, ", with a %s of %s", metric->title,
		simulated_format(metric, goal_metric_of(metric, best)->mean).text);
	if (simulated->has_requests)
		strbuf_addf(out, " and a throughput of %s",
			quantity_format(QUANTITY_RATE, best->throughput_per_s.mean).text);
	if (simulated->equals)
		strbuf_addf(out, "; within the intervals %zu other setting%s as good",
			simulated->equals, simulated->equals == 1 ? " is" : "s are");
	strbuf_add(out, ".");
}

void simulated_add_method(struct strbuf *out, const struct simulated *simulated)
{
	strbuf_addf(out, "%zu setting%s, %zu replication%s", simulated->count,
		plural(simulated->count), simulated->replications, plural(simulated->replications));
	if (simulated->requests)
		strbuf_addf(out, " of %" PRIu64 " requests each", simulated->requests);
	else if (simulated->duration_s > 0)
		strbuf_addf(
			out, " of %s", quantity_format(QUANTITY_TIME, simulated->duration_s).text);
	else
		strbuf_add(out, " each, until the program ends");
	strbuf_add(out, "; ± is a 95% confidence interval.");
}

size_t simulated_busiest(const struct simulated *simulated, const struct simulated_setting *setting)
{
	size_t busiest = SIZE_MAX;
	double most = 0;
	for (size_t i = 0; i < simulated->model->object_count; i++)
		if (setting->objects[i].utilisation.mean > most) {
			most = setting->objects[i].utilisation.mean;
			busiest = i;
		}
	return busiest;
}
