/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a model can be simulated. What is wrong is said with the line of the thing that it belongs to;
 * the reader has already refused what it could name more exactly.
 */
#include "model/check.h"

#include "base/lines.h"
#include "model/value.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { STAGES_MAX = 1000 };

int check_fail(const struct check *c, unsigned line, const char *fmt, ...)
{
	char text[ERR_TEXT_BYTES];
	va_list args;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args); /* cut at its size */
	va_end(args);
	const char *file = c->model->file ? c->model->file : "model";
	if (!line)
		return err_set(c->err, -EINVAL, "%s: %s", file, text);
	return err_set(c->err, -EINVAL, "%s:%u: %s", file, line, text);
}

int check_value(const struct check *c, unsigned line, const struct model_value *value,
	enum model_unit unit, double *ret)
{
	struct err why = { "" };
	int code = model_evaluate(c->model, value, unit, c->parameters, ret, &why);
	return code == 0 ? 0 : check_fail(c, line, "%s", why.text);
}

/* A whole number from min to max. */
int check_whole(const struct check *c, unsigned line, const char *what,
	const struct model_value *value, double min, double max)
{
	double number;
	int code = check_value(c, line, value, MODEL_NUMBER, &number);
	if (code < 0)
		return code;
	if (number >= min && number <= max && number == floor(number))
		return 0;
	return check_fail(c, line, "%s is %.15g: it must be a whole number from %.15g to %.15g",
		what, number, min, max);
}

/* Items at first: a share of work, say, that is rounded. */
static int check_initial(const struct check *c, const struct model_object *queue)
{
	double number;
	int code = check_value(c, queue->line, &queue->initial, MODEL_NUMBER, &number);
	if (code < 0 || fabs(number) <= MODEL_ITEMS_MAX)
		return code;
	return check_fail(c, queue->line, "initial is %.15g: it must be from -%d to %d", number,
		MODEL_ITEMS_MAX, MODEL_ITEMS_MAX);
}

static int check_time(
	const struct check *c, unsigned line, const struct model_value *value, double *ret)
{
	int code = check_value(c, line, value, MODEL_TIME, ret);
	if (code == 0 && !(*ret >= 0 && *ret <= MODEL_TIME_MAX_S))
		code = check_fail(c, line, "a time is %.6g s: it must be from 0 to %d s", *ret,
			MODEL_TIME_MAX_S);
	return code;
}

static int check_quantiles(
	const struct check *c, unsigned line, const struct model_dist *dist, double *ret_most)
{
	if (!dist->quantile_count || dist->quantile_count > MODEL_QUANTILES_MAX)
		return check_fail(
			c, line, "a distribution needs 1 to %d quantiles", MODEL_QUANTILES_MAX);
	for (uint32_t i = 0; i < dist->quantile_count; i++) {
		double least = i ? dist->quantiles[i - 1] : 0;
		if (!(dist->quantiles[i] >= least && dist->quantiles[i] <= MODEL_TIME_MAX_S))
			return check_fail(c, line, "quantiles are ascending, from 0 to %d s",
				MODEL_TIME_MAX_S);
	}
	*ret_most = dist->quantiles[dist->quantile_count - 1];
	return 0;
}

/* *ret_takes_time: what is drawn can be above 0. */
int check_dist(
	const struct check *c, unsigned line, const struct model_dist *dist, bool *ret_takes_time)
{
	double most = 0, least = 0;
	int code = 0;
	switch (dist->kind) {
	case MODEL_NO_TIME:
		break;
	case MODEL_FIXED:
	case MODEL_EXPONENTIAL:
		code = check_time(c, line, &dist->a, &most);
		break;
	case MODEL_UNIFORM:
		code = check_time(c, line, &dist->a, &least);
		if (code == 0)
			code = check_time(c, line, &dist->b, &most);
		if (code == 0 && most < least)
			code = check_fail(c, line, "a uniform distribution ends before it begins");
		break;
	case MODEL_ERLANG:
		code = check_time(c, line, &dist->a, &most);
		if (code == 0)
			code = check_whole(
				c, line, "the number of stages", &dist->b, 1, STAGES_MAX);
		break;
	case MODEL_QUANTILES:
		code = check_quantiles(c, line, dist, &most);
		break;
	default:
		code = check_fail(c, line, "an unknown kind of distribution");
	}
	if (code == 0 && (dist->scale.formula || dist->scale.value != 0)) {
		double scale;
		code = check_value(c, line, &dist->scale, MODEL_NUMBER, &scale);
		if (code == 0 && !(scale >= 0 && scale * most <= MODEL_TIME_MAX_S))
			code = check_fail(c, line, "'scale' is %.6g: negative or too large", scale);
		most *= scale;
	}
	/* The engine counts nanoseconds; less than half of one is none. */
	*ret_takes_time = most >= 0.5e-9;
	return code;
}

int check_count(
	const struct check *c, unsigned line, const struct model_count *count, double *ret_most)
{
	if (!count->entry_count) {
		int code = check_value(c, line, &count->value, MODEL_NUMBER, ret_most);
		bool is_none = count->value.formula && *ret_most < 0;
		if (code == 0 && !is_none && !(*ret_most >= 0 && *ret_most <= MODEL_COUNT_MAX))
			code = check_fail(c, line, "a count is %.15g: it must be from 0 to %d",
				*ret_most, MODEL_COUNT_MAX);
		return code;
	}
	double sum = 0;
	*ret_most = 0;
	for (uint32_t i = 0; i < count->entry_count; i++) {
		const struct model_count_entry *entry = &count->entries[i];
		if (!(entry->probability >= 0 && entry->probability <= 1))
			return check_fail(c, line, "a probability is %.6g", entry->probability);
		if (entry->count > MODEL_COUNT_MAX)
			return check_fail(c, line, "a count is above %d", MODEL_COUNT_MAX);
		if (entry->probability > 0 && (double)entry->count > *ret_most)
			*ret_most = (double)entry->count;
		sum += entry->probability;
	}
	if (fabs(sum - 1) > CHECK_PROBABILITY_SLACK)
		return check_fail(
			c, line, "the probabilities of the counts sum to %.6g, not 1", sum);
	return 0;
}

int check_name(const struct check *c, unsigned line, const char *what, const char *name)
{
	if (!name || !*name)
		return check_fail(c, line, "a %s has no name", what);
	if (strlen(name) > MODEL_NAME_BYTES_MAX)
		return check_fail(c, line, "the name of a %s is longer than %d bytes", what,
			MODEL_NAME_BYTES_MAX);
	return 0;
}

static int check_parameter(const struct check *c, size_t index)
{
	const struct model_parameter *parameter = &c->model->parameters[index];
	int code = check_name(c, parameter->line, "parameter", parameter->name);
	if (code < 0)
		return code;
	const char *name = parameter->name;
	bool is_good =
		!(*name >= '0' && *name <= '9') &&
		name[strspn(name,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
	if (!is_good)
		return check_fail(c, parameter->line,
			"parameter '%s': its name must be a letter, then letters, digits, '_'",
			text_show(name).text);
	if (value_is_unit(name))
		return check_fail(
			c, parameter->line, "parameter '%s' has the name of a unit", name);
	if (model_find_parameter(c->model, name) != index)
		return check_fail(
			c, parameter->line, "there are two parameters '%s'", text_show(name).text);
	double value = c->parameters ? c->parameters[index] : parameter->value;
	return isfinite(value) ? 0
			       : check_fail(c, parameter->line, "parameter '%s' is not finite",
					 text_show(name).text);
}

static int check_disk(const struct check *c, const struct model_object *disk)
{
	bool takes_time;
	double latency_s;
	int code = disk->class_count
			   ? check_time(c, disk->line, &disk->latency, &latency_s)
			   : check_fail(c, disk->line, "a disk needs classes of requests");
	for (uint32_t i = 0; code == 0 && i < disk->class_count; i++) {
		code = check_name(c, disk->line, "class", disk->classes[i].name);
		if (code == 0)
			code = check_dist(c, disk->line, &disk->classes[i].service, &takes_time);
	}
	return code;
}

/* Whether shares of instances can be drawn from, of as many instances as the defaults of parameters give. */
static int check_shares(const struct check *c, const struct model_object *lock)
{
	double instances = 1, sum = 0;
	int code = lock->share_count
			   ? check_value(c, lock->line, &lock->size, MODEL_NUMBER, &instances)
			   : 0;
	for (uint32_t i = 0; code == 0 && i < lock->share_count; i++) {
		sum += lock->shares[i];
		if (!(lock->shares[i] >= 0 && sum <= 1 + CHECK_PROBABILITY_SLACK))
			code = check_fail(c, lock->line,
				"the shares of the instances are negative, or sum to more than 1");
	}
	if (code == 0 && lock->share_count > instances && lock->share_count > 1)
		code = check_fail(
			c, lock->line, "%u shares of %.6g instances", lock->share_count, instances);
	return code;
}

/* Whether any fragment does that to the object. */
static bool has_op_on(const struct model *model, size_t object, enum model_op op)
{
	for (size_t i = 0; i < model->group_count; i++)
		for (uint32_t k = 0; k < model->groups[i].fragment_count; k++) {
			const struct model_fragment *fragment = &model->groups[i].fragments[k];
			if (fragment->op == op && fragment->object == object)
				return true;
		}
	return false;
}

/* Of several instances none is closed, none holds its source back, and all are empty at first: nothing says which. */
static int check_instances(const struct check *c, size_t index)
{
	const struct model_object *queue = &c->model->objects[index];
	int code =
		check_whole(c, queue->line, "instances", &queue->instances, 0, MODEL_INSTANCES_MAX);
	if (code < 0 || (!queue->instances.formula && queue->instances.value < 2))
		return code;
	bool waits = false;
	for (size_t i = 0; i < c->model->source_count; i++)
		waits |= c->model->sources[i].queue == index &&
			 c->model->sources[i].does_wait_for_room;
	bool has_items = queue->initial.formula || queue->initial.value != 0;
	return waits || has_items || queue->are_calls || has_op_on(c->model, index, MODEL_CLOSE)
		       ? check_fail(c, queue->line,
				 "a queue of several instances is not closed, has no 'initial', no "
				 "'calls', and no source that waits for room")
		       : 0;
}

static int check_object(const struct check *c, size_t index)
{
	const struct model_object *object = &c->model->objects[index];
	if ((unsigned)object->kind >= MODEL_OBJECT_KINDS)
		return check_fail(c, object->line, "an object of an unknown kind");
	int code = check_name(c, object->line, model_object_word(object->kind), object->name);
	if (code == 0 && model_find_object(c->model, object->name) != index)
		code = check_fail(c, object->line, "there are two objects '%s'",
			text_show(object->name).text);
	if (code < 0)
		return code;
	const char *word = model_size_word(object->kind);
	bool needs_size = object->kind == MODEL_BARRIER || object->kind == MODEL_LIMIT;
	if (word)
		code = check_whole(c, object->line, word, &object->size, needs_size,
			object->kind <= MODEL_RWLOCK ? MODEL_INSTANCES_MAX : MODEL_COUNT_MAX);
	if (code == 0 && object->kind <= MODEL_RWLOCK)
		code = check_shares(c, object);
	if (code == 0 && object->kind == MODEL_QUEUE)
		code = check_initial(c, object);
	if (code == 0 && object->kind == MODEL_QUEUE)
		code = check_instances(c, index);
	if (code == 0 && object->kind == MODEL_DISK)
		code = check_disk(c, object);
	double spins_s;
	if (code == 0 && object->kind == MODEL_BARRIER)
		code = check_time(c, object->line, &object->spins, &spins_s);
	return code;
}

static bool is_object(const struct check *c, uint32_t index, enum model_object_kind kind)
{
	return index < c->model->object_count && c->model->objects[index].kind == kind;
}

static int check_times(const struct check *c, const struct model_source *source)
{
	for (size_t i = 0; i < source->time_count; i++)
		if (!(source->times[i] >= (i ? source->times[i - 1] : 0) &&
			    source->times[i] <= MODEL_TIME_MAX_S))
			return check_fail(c, source->line, "arrivals are ascending times");
	return source->time_count ? 0 : check_fail(c, source->line, "there are no arrivals");
}

static int check_arrivals(const struct check *c, const struct model_source *source)
{
	bool takes_time = true;
	double rate = 1;
	int code = 0;
	switch (source->kind) {
	case MODEL_POISSON:
		code = check_value(c, source->line, &source->rate, MODEL_RATE, &rate);
		if (code == 0 && !(rate >= 1e-6 && rate <= 1e9))
			code = check_fail(
				c, source->line, "a rate is %.6g /s: from 1e-6 to 1e9", rate);
		break;
	case MODEL_INTERVALS:
		code = check_dist(c, source->line, &source->interval, &takes_time);
		if (code == 0 && !takes_time)
			code = check_fail(
				c, source->line, "requests arrive without time between them");
		break;
	case MODEL_CLOSED:
		code = check_whole(
			c, source->line, "clients", &source->clients, 1, MODEL_THREADS_MAX);
		if (code == 0)
			code = check_dist(c, source->line, &source->interval, &takes_time);
		break;
	case MODEL_ARRIVALS:
		code = check_times(c, source);
		break;
	case MODEL_BATCH:
		code = check_whole(c, source->line, "batch", &source->requests, 1, MODEL_ITEMS_MAX);
		break;
	default:
		code = check_fail(c, source->line, "a source of an unknown kind");
	}
	return code;
}

static int check_source(const struct check *c, size_t index)
{
	const struct model_source *source = &c->model->sources[index];
	int code = check_name(c, source->line, "source", source->name);
	if (code == 0)
		code = check_arrivals(c, source);
	if (code == 0)
		code = check_whole(
			c, source->line, "requests", &source->requests, 0, MODEL_COUNT_MAX);
	if (code == 0 && !is_object(c, source->queue, MODEL_QUEUE))
		code = check_fail(c, source->line, "the source puts its requests into no queue");
	if (code == 0 && !has_op_on(c->model, source->queue, MODEL_GET) &&
		!has_op_on(c->model, source->queue, MODEL_TRY_GET))
		code = check_fail(c, source->line,
			"no fragment gets what the source puts into queue '%s'",
			text_show(c->model->objects[source->queue].name).text);
	if (code == 0 && source->limit != MODEL_NONE && !is_object(c, source->limit, MODEL_LIMIT))
		code = check_fail(c, source->line, "the source takes from no limit");
	return code;
}

static int check_hardware(const struct check *c)
{
	const struct model_hardware *hardware = &c->model->hardware;
	bool takes_time;
	double time;
	int code = check_whole(c, hardware->line, "cores", &hardware->cores, 0, MODEL_CORES_MAX);
	for (uint32_t i = 0; code == 0 && i < hardware->speed_count; i++)
		if (!(hardware->speeds[i] >= 1e-3 && hardware->speeds[i] <= 1e3))
			code = check_fail(c, hardware->line, "a speed is %.6g: from 0.001 to 1000",
				hardware->speeds[i]);
	if (code == 0 && !(hardware->smt_factor >= 0 && hardware->smt_factor <= 1))
		code = check_fail(c, hardware->line, "the factor of SMT is from 0 to 1");
	if (code == 0 && hardware->threads_per_core > 8)
		code = check_fail(c, hardware->line, "more than 8 threads on a core");
	if (code == 0)
		code = check_dist(c, hardware->line, &hardware->quantum, &takes_time);
	if (code == 0 && hardware->quantum.kind != MODEL_NO_TIME && !takes_time)
		code = check_fail(c, hardware->line, "the scheduler's quantum is 0");
	if (code == 0)
		code = check_time(c, hardware->line, &hardware->switch_time, &time);
	if (code == 0)
		code = check_dist(c, hardware->line, &hardware->wake, &takes_time);
	if (code == 0)
		code = check_time(c, hardware->line, &hardware->wake_cost, &time);
	if (code == 0)
		code = check_time(c, hardware->line, &hardware->doze_time, &time);
	return code;
}

/* All values but those of the parameters themselves. */
static int check_values(const struct check *c)
{
	const struct model *model = c->model;
	int code = 0;
	for (size_t i = 0; code == 0 && i < model->object_count; i++)
		code = check_object(c, i);
	for (size_t i = 0; code == 0 && i < model->source_count; i++)
		code = check_source(c, i);
	if (code == 0)
		code = check_hardware(c);
	double duration;
	if (code == 0)
		code = check_value(c, 0, &model->duration, MODEL_TIME, &duration);
	if (code == 0 && !(duration >= 0 && duration <= MODEL_TIME_MAX_S))
		code = check_fail(c, 0, "'duration' is from 0 to %d s", MODEL_TIME_MAX_S);
	if (code == 0)
		code = check_time(c, 0, &model->way, &duration);
	return code < 0 ? code : check_threads(c);
}

int model_check_at(const struct model *model, const double *parameters, struct err *err)
{
	const struct check c = { .model = model, .parameters = parameters, .err = err };
	int code = 0;
	for (size_t i = 0; code == 0 && i < model->parameter_count; i++)
		code = check_parameter(&c, i);
	return code < 0 ? code : check_values(&c);
}

int model_uses(const struct model *model, uint32_t parameter)
{
	struct err unused = { "" };
	AUTO_FREE double *parameters = calloc(model->parameter_count, sizeof *parameters);
	if (!parameters)
		return -ENOMEM;
	for (size_t i = 0; i < model->parameter_count; i++)
		parameters[i] = model->parameters[i].value;
	parameters[parameter] = NAN; /* no formula is finite then that has it */
	const struct check c = { .model = model, .parameters = parameters, .err = &unused };
	int code = check_values(&c);
	return code == -ENOMEM ? code : code < 0;
}

int model_check(const struct model *model, struct err *err)
{
	return model_check_at(model, NULL, err);
}
