/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/goal.h"

#include "base/lines.h"
#include "model/value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define METRIC(field) offsetof(struct simulated_setting, field)
const struct goal_metric goal_metrics[] = {
	{ "response", "response time", MODEL_TIME, METRIC(response_s) },
	{ "p50", "median response", MODEL_TIME, METRIC(p50_s) },
	{ "p90", "90% of responses", MODEL_TIME, METRIC(p90_s) },
	{ "p95", "95% of responses", MODEL_TIME, METRIC(p95_s) },
	{ "p99", "99% of responses", MODEL_TIME, METRIC(p99_s) },
	{ "throughput", "throughput", MODEL_RATE, METRIC(throughput_per_s) },
	{ "errors", "share of errors", MODEL_NUMBER, METRIC(error_share) },
	{ "dropped", "share dropped", MODEL_NUMBER, METRIC(dropped_share) },
	{ "cores", "cores busy", MODEL_NUMBER, METRIC(cores) },
	{ "run", "run time", MODEL_TIME, METRIC(run_s) },
	{ "iteration", "time of an iteration", MODEL_TIME, METRIC(iteration_s) },
	{ 0 },
};

const struct estimate *goal_metric_of(
	const struct goal_metric *metric, const struct simulated_setting *setting)
{
	return (const struct estimate *)(const void *)((const char *)setting + metric->offset);
}

struct term {
	enum { TERM_MIN, TERM_MAX, TERM_BELOW, TERM_ABOVE } kind;
	const struct goal_metric *metric; /* NULL: the parameter */
	uint32_t parameter;
	double value;
};

enum { TERMS_MAX = 16 };

struct goal {
	struct term terms[TERMS_MAX];
	size_t count;
	const struct term *objective; /* NULL: none */
};

/* Cuts spaces from both ends. */
static char *trim(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	size_t length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

static int find_what(
	const struct model *model, const char *name, struct term *term, struct err *err)
{
	for (const struct goal_metric *metric = goal_metrics; metric->name; metric++)
		if (strcmp(metric->name, name) == 0) {
			term->metric = metric;
			return 0;
		}
	term->parameter = model_find_parameter(model, name);
	if (term->parameter != MODEL_NONE)
		return 0;
	return err_set(err, -EINVAL,
		"'%s' is neither a parameter nor response, p50, p90, p95, p99, throughput, errors, "
		"dropped, cores, run, iteration",
		text_show(name).text);
}

static int read_condition(
	const struct model *model, char *text, char *sign, struct term *term, struct err *err)
{
	term->kind = *sign == '<' ? TERM_BELOW : TERM_ABOVE;
	*sign = '\0';
	int code = find_what(model, trim(text), term, err);
	if (code < 0)
		return code;
	enum model_unit unit, wanted = term->metric ? term->metric->unit
						    : model->parameters[term->parameter].unit;
	code = value_read_constant(trim(sign + 1), &term->value, &unit, err);
	if (code == 0 && unit != MODEL_NUMBER && unit != wanted)
		code = err_set(
			err, -EINVAL, "'%s' is not in its unit", text_show(trim(sign + 1)).text);
	return code;
}

static int read_term(const struct model *model, char *text, struct goal *goal, struct err *err)
{
	if (goal->count == TERMS_MAX)
		return err_set(err, -EINVAL, "a goal of more than %d terms", TERMS_MAX);
	struct term *term = &goal->terms[goal->count++];
	*term = (struct term){ 0 };
	text = trim(text);
	char *sign = strpbrk(text, "<>");
	if (sign)
		return read_condition(model, text, sign, term, err);
	bool is_min = strncmp(text, "min ", 4) == 0;
	if (!is_min && strncmp(text, "max ", 4) != 0)
		return err_set(err, -EINVAL,
			"'%s' is none of 'min WHAT', 'max WHAT', 'WHAT < VALUE', 'WHAT > VALUE'",
			text_show(text).text);
	if (goal->objective)
		return err_set(err, -EINVAL, "a goal has one 'min' or 'max'");
	term->kind = is_min ? TERM_MIN : TERM_MAX;
	goal->objective = term;
	return find_what(model, trim(text + 4), term, err);
}

static int read_goal(const struct model *model, const char *text, struct goal *ret, struct err *err)
{
	AUTO_FREE char *copy = strdup(text);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	char *rest = NULL;
	int code = 0;
	for (char *term = strtok_r(copy, ",", &rest); term && code == 0;
		term = strtok_r(NULL, ",", &rest))
		code = read_term(model, term, ret, err);
	if (code == 0 && !ret->count)
		code = err_set(err, -EINVAL, "it is empty");
	return code < 0 ? err_prefix(err, code, "the goal '%s'", text_show(text).text) : 0;
}

int goal_check(const struct model *model, const char *goal, struct err *err)
{
	struct goal read = { 0 };
	return read_goal(model, goal, &read, err);
}

static struct estimate value_of(
	const struct simulated *simulated, const struct term *term, size_t setting)
{
	if (term->metric)
		return *goal_metric_of(term->metric, &simulated->settings[setting]);
	for (size_t i = 0; i < simulated->grid->axis_count; i++)
		if (simulated->grid->axes[i].parameter == term->parameter) {
			double value = grid_value(simulated->grid, i, setting);
			return (struct estimate){ value, value, value };
		}
	double value = simulated->model->parameters[term->parameter].value;
	return (struct estimate){ value, value, value };
}

/* All conditions, by the mean; what grows for ever has no mean. */
static bool meets(const struct simulated *simulated, const struct goal *goal, size_t setting)
{
	if (simulated->settings[setting].code < 0 || simulated->settings[setting].does_grow)
		return false;
	for (size_t i = 0; i < goal->count; i++) {
		const struct term *term = &goal->terms[i];
		double mean = value_of(simulated, term, setting).mean;
		if (term->kind == TERM_BELOW && !(mean < term->value))
			return false;
		if (term->kind == TERM_ABOVE && !(mean > term->value))
			return false;
	}
	return true;
}

/* Whether `a` is better than `b`. */
static bool is_better(const struct term *objective, double a, double b)
{
	return objective->kind == TERM_MIN ? a < b : a > b;
}

static bool overlap(const struct estimate *a, const struct estimate *b)
{
	/* Without intervals only equals are equal. */
	if (isnan(a->low) || isnan(b->low))
		return a->mean == b->mean;
	return a->low <= b->high && b->low <= a->high;
}

static void choose(struct simulated *simulated, const struct goal *goal)
{
	struct estimate best = { NAN, NAN, NAN };
	for (size_t i = 0; i < simulated->count; i++) {
		if (!meets(simulated, goal, i))
			continue;
		struct estimate value = goal->objective ? value_of(simulated, goal->objective, i)
							: (struct estimate){ 0, 0, 0 };
		if (isnan(value.mean))
			continue;
		if (simulated->best == SIZE_MAX ||
			(goal->objective && is_better(goal->objective, value.mean, best.mean))) {
			simulated->best = i;
			best = value;
		}
	}
	for (size_t i = 0; goal->objective && simulated->best != SIZE_MAX && i < simulated->count;
		i++) {
		struct estimate value = value_of(simulated, goal->objective, i);
		simulated->equals += i != simulated->best && meets(simulated, goal, i) &&
				     !isnan(value.mean) && overlap(&value, &best);
	}
	if (simulated->best == SIZE_MAX)
		simulated->why_none = "no setting meets the goal";
}

int goal_choose(struct simulated *simulated, struct err *err)
{
	struct goal goal = { 0 };
	simulated->best = SIZE_MAX;
	if (!simulated->goal)
		return 0;
	int code = read_goal(simulated->model, simulated->goal, &goal, err);
	if (code == 0)
		choose(simulated, &goal);
	return code;
}
