/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The graphs of a model's threads as text. */
#include "report/model_graph.h"

#include "base/cleanup.h"
#include "report/quantity.h"

#include <math.h>

/* Mean of a distribution at the model's default parameters, s; NAN if it cannot be evaluated. */
static double mean_s(const struct model *model, const struct model_dist *dist)
{
	double a = 0, b = 0, scale = 1, sum = 0;
	bool has_scale = dist->scale.formula || dist->scale.value != 0;
	if (dist->kind == MODEL_NO_TIME)
		return 0;
	if (has_scale && model_evaluate(model, &dist->scale, MODEL_NUMBER, NULL, &scale, NULL) < 0)
		return (double)NAN;
	for (uint32_t i = 0; i + 1 < dist->quantile_count; i++)
		sum += (dist->quantiles[i] + dist->quantiles[i + 1]) / 2 /
		       (dist->quantile_count - 1);
	if (dist->kind == MODEL_QUANTILES)
		return scale * (dist->quantile_count == 1 ? dist->quantiles[0] : sum);
	if (model_evaluate(model, &dist->a, MODEL_TIME, NULL, &a, NULL) < 0)
		return (double)NAN;
	if (dist->kind != MODEL_UNIFORM)
		return scale * a;
	return model_evaluate(model, &dist->b, MODEL_TIME, NULL, &b, NULL) < 0
		       ? (double)NAN
		       : scale * (a + b) / 2;
}

double model_edge_probability(const struct model *model, const struct model_edge *edge)
{
	double probability = 0;
	return model_evaluate(model, &edge->probability, MODEL_NUMBER, NULL, &probability, NULL) < 0
		       ? (double)NAN
		       : probability;
}

/* NAN: not known. */
static double mean_count(const struct model *model, const struct model_count *count)
{
	double mean = 0;
	for (uint32_t i = 0; i < count->entry_count; i++)
		mean += (double)count->entries[i].count * count->entries[i].probability;
	if (count->entry_count == 0 &&
		model_evaluate(model, &count->value, MODEL_NUMBER, NULL, &mean, NULL) < 0)
		return (double)NAN;
	return mean;
}

static void add_times(
	struct strbuf *out, const struct model *model, const struct model_fragment *fragment)
{
	double times = mean_count(model, &fragment->count);
	if (isnan(times))
		return;
	strbuf_addf(out, " %s times", number_format(times).text);
	if (fragment->count.value.formula)
		strbuf_addf(out, " = %s", fragment->count.value.formula);
}

/* How many requests of the disk, in the mean, and how long it serves one. */
static void add_requests(
	struct strbuf *out, const struct model *model, const struct model_fragment *fragment)
{
	const struct model_object *disk = &model->objects[fragment->object];
	double requests = mean_count(model, &fragment->count);
	if (isnan(requests))
		return;
	strbuf_addf(out, ", %s requests of %s", number_format(requests).text,
		quantity_format(
			QUANTITY_TIME, mean_s(model, &disk->classes[fragment->other].service))
			.text);
	if (fragment->is_background)
		strbuf_add(out, " in the background");
}

/* The least and the greatest part of that time in the course of the work. */
static void add_course(struct strbuf *out, const struct model_course *course)
{
	double least = INFINITY, most = 0;
	for (uint32_t i = 0; i < course->factor_count; i++) {
		least = fmin(least, course->factors[i]);
		most = fmax(most, course->factors[i]);
	}
	if (course->factor_count > 0)
		strbuf_addf(out, " (%.2g to %.2g times that in its course)", least, most);
}

void model_add_costs(
	struct strbuf *out, const struct model *model, const struct model_fragment *fragment)
{
	double cpu_s = mean_s(model, &fragment->cpu);
	if (cpu_s > 0)
		strbuf_addf(out, " cpu %s", quantity_format(QUANTITY_TIME, cpu_s).text);
	add_course(out, &fragment->course);
	if (fragment->time.kind != MODEL_NO_TIME)
		strbuf_addf(out, " for %s",
			quantity_format(QUANTITY_TIME, mean_s(model, &fragment->time)).text);
	if (fragment->op == MODEL_LOOP)
		add_times(out, model, fragment);
	if (fragment->op == MODEL_IO)
		add_requests(out, model, fragment);
}

static const char *target(const struct model_group *group, uint32_t to)
{
	if (to == MODEL_EXIT)
		return "exit";
	return to == MODEL_STOP ? "stop" : group->fragments[to].name;
}

static void add_line(struct strbuf *out, unsigned width, const char *indent, const char *mark,
	const char *name, const char *tail)
{
	AUTO_RELEASE(strbuf) struct strbuf line = { 0 };
	strbuf_addf(&line, "%s%s", indent, mark);
	strbuf_add(&line, name);
	strbuf_add(&line, tail ? tail : "");
	text_add_cut(out, line.text ? line.text : "", width);
	strbuf_add(out, "\n");
}

static void add_fragment(struct strbuf *out, const struct model *model,
	const struct model_group *group, const struct model_fragment *f, unsigned width)
{
	AUTO_RELEASE(strbuf) struct strbuf costs = { 0 };
	model_add_costs(&costs, model, f);
	add_line(out, width, "  ", "", f->name, costs.text);
	if (f->op == MODEL_LOOP)
		add_line(out, width, "      ", "each time: ", target(group, f->body), NULL);
	for (uint32_t i = 0; i < f->edge_count; i++) {
		AUTO_RELEASE(strbuf) struct strbuf mark = { 0 };
		double probability = model_edge_probability(model, &f->edges[i]);
		if (probability < 1)
			strbuf_addf(&mark, "%4.1f%% ", 100 * probability);
		strbuf_add(&mark, "-> ");
		add_line(out, width, "      ", mark.text ? mark.text : "",
			target(group, f->edges[i].to), NULL);
	}
	if (f->otherwise != MODEL_NONE)
		add_line(out, width, "      ", "else -> ", target(group, f->otherwise), NULL);
}

void report_model_graphs(
	struct strbuf *out, const struct model_report *report, const struct text_style *style)
{
	const struct model *model = report->model;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	for (size_t i = 0; i < model->group_count; i++) {
		const struct model_group *group = &model->groups[i];
		strbuf_add(&text, "\n");
		text_add_clean(&text, group->name);
		strbuf_add(&text, " starts with ");
		text_add_clean(&text, target(group, group->start));
		strbuf_add(&text, "\n");
		for (uint32_t j = 0; j < group->fragment_count; j++)
			add_fragment(&text, model, group, &group->fragments[j], text_width(style));
	}
	text_add_in_charset(out, &text, style);
}
