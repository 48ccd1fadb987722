/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One list of columns over all sources of stalls. */
#include "collect/stalls.h"

#include "base/mem.h"
#include "collect/counter_watch.h"
#include "collect/plugin.h"
#include "collect/sync_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum unit { UNIT_CYCLES, UNIT_SECONDS, UNIT_NS };

struct column {
	enum unit unit; /* as its source yields it */
	double scale; /* into the unit of all */
};

struct stalls {
	/* The sources, in the order of their columns. */
	struct counter_watch *counters; /* NULL: none */
	struct sync_watch *sync; /* NULL: not watched */
	const struct stalls_model *model; /* NULL: none */
	struct plugin **plugins;
	size_t plugin_count;

	struct err no_counters; /* why there are none; "" if there are or nobody asked */
	char low_share[160]; /* a caveat, once it is one */
	char unfinished[160]; /* as well */
	const char **names; /* borrowed from the sources */
	struct column *columns;
	double *values;
	size_t count, name_capacity, column_capacity;
	enum unit unit;
};

static int add_column(struct stalls *stalls, const char *name, enum unit unit, struct err *err)
{
	for (size_t i = 0; i < stalls->count; i++)
		if (strcmp(stalls->names[i], name) == 0)
			return err_set(err, -EINVAL,
				"two stall categories are called '%s': rename one", name);
	size_t need = stalls->count + 1;
	if (mem_grow(&stalls->names, &stalls->name_capacity, need, sizeof *stalls->names) < 0 ||
		mem_grow(&stalls->columns, &stalls->column_capacity, need,
			sizeof *stalls->columns) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	stalls->names[stalls->count] = name;
	stalls->columns[stalls->count++] = (struct column){ .unit = unit, .scale = 1 };
	return 0;
}

static int load_plugins(struct stalls *stalls, const struct stalls_opts *opts, struct err *err)
{
	stalls->plugins = calloc(opts->plugin_count + 1, sizeof(struct plugin *));
	if (!stalls->plugins)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < opts->plugin_count; i++) {
		struct plugin *plugin;
		int status = plugin_load(opts->plugin_paths[i], &plugin, err);
		if (status < 0)
			return status;
		stalls->plugins[stalls->plugin_count++] = plugin;
		status = add_column(stalls, plugin->category,
			plugin->unit == PLUGIN_CYCLES ? UNIT_CYCLES : UNIT_SECONDS, err);
		if (status < 0)
			return status;
	}
	return 0;
}

/* Hardware events where this machine has them. */
static int open_counters(struct stalls *stalls, const struct stalls_opts *opts, struct err *err)
{
	if (!opts->counts_hardware)
		return 0;
	struct err reason;
	int status = counter_watch_new(opts->cpu, &stalls->counters, &reason);
	if (status == -ENOMEM)
		return err_set(err, status, "%s", reason.text);
	if (status < 0) {
		(void)err_set(&stalls->no_counters, status, "no hardware stall events: %s",
			reason.text); /* the text is wanted */
		return 0;
	}
	const struct event_set *set = stalls->counters->set;
	for (uint32_t i = 0; i < set->events_count; i++) {
		bool is_time = strcmp(set->events[i].unit, "ns") == 0;
		status = add_column(
			stalls, set->events[i].name, is_time ? UNIT_NS : UNIT_CYCLES, err);
		if (status < 0)
			return status;
	}
	return 0;
}

static int open_sync(struct stalls *stalls, const struct stalls_opts *opts, struct err *err)
{
	if (!opts->sync_program)
		return 0;
	int status = sync_watch_new(opts->sync_program, &stalls->sync, err);
	for (size_t i = 0; status == 0 && i < SYNC_STALLS_CATEGORIES; i++)
		status = add_column(stalls, stalls->sync->names[i], UNIT_SECONDS, err);
	return status;
}

static int open_model(struct stalls *stalls, const struct stalls_opts *opts, struct err *err)
{
	stalls->model = opts->model;
	int status = 0;
	for (size_t i = 0; opts->model && status == 0 && i < opts->model->count; i++)
		status = add_column(stalls, opts->model->names[i], UNIT_CYCLES, err);
	return status;
}

/* All columns in seconds if none is in cycles, else in cycles. */
static int unify_units(struct stalls *stalls, double clock_hz, struct err *err)
{
	bool has_cycles = false, has_time = false;
	for (size_t i = 0; i < stalls->count; i++) {
		bool is_cycles = stalls->columns[i].unit == UNIT_CYCLES;
		has_cycles |= is_cycles;
		has_time |= !is_cycles;
	}
	stalls->unit = has_cycles ? UNIT_CYCLES : UNIT_SECONDS;
	if (has_cycles && has_time && !(clock_hz > 0))
		return err_set(err, -EINVAL,
			"some stall categories are in cycles and some in seconds, and this machine "
			"does not tell its clock: give the plugins one unit (with 'scale')");
	for (size_t i = 0; i < stalls->count; i++) {
		struct column *column = &stalls->columns[i];
		if (column->unit == UNIT_CYCLES)
			continue;
		column->scale = column->unit == UNIT_NS ? 1e-9 : 1;
		if (has_cycles)
			column->scale *= clock_hz;
	}
	return 0;
}

int stalls_new(const struct stalls_opts *opts, struct stalls **ret, struct err *err)
{
	AUTO(stalls) struct stalls *stalls = calloc(1, sizeof *stalls);
	if (!stalls)
		return err_set(err, -ENOMEM, "out of memory");
	int status = open_counters(stalls, opts, err);
	if (status == 0)
		status = open_sync(stalls, opts, err);
	if (status == 0)
		status = open_model(stalls, opts, err);
	if (status == 0)
		status = load_plugins(stalls, opts, err);
	if (status == 0)
		status = unify_units(stalls, opts->cpu->max_hz, err);
	if (status < 0)
		return status;
	stalls->values = calloc(stalls->count + 1, sizeof *stalls->values);
	if (!stalls->values)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE(stalls);
	return 0;
}

void stalls_free(struct stalls *stalls)
{
	if (!stalls)
		return;
	counter_watch_free(stalls->counters);
	sync_watch_free(stalls->sync);
	for (size_t i = 0; i < stalls->plugin_count; i++)
		plugin_free(stalls->plugins[i]);
	free(stalls->plugins);
	free(stalls->names);
	free(stalls->columns);
	free(stalls->values);
	free(stalls);
}

const char *const *stalls_names(const struct stalls *stalls, size_t *ret_count)
{
	*ret_count = stalls->count;
	return stalls->names;
}

const char *stalls_unit(const struct stalls *stalls)
{
	if (stalls->count == 0)
		return "";
	return stalls->unit == UNIT_CYCLES ? "cycles" : "seconds";
}

const struct sync_watch *stalls_sync(const struct stalls *stalls)
{
	return stalls->sync;
}

const struct event_spec *stalls_event(const struct stalls *stalls, const char *name)
{
	if (!stalls->counters)
		return NULL;
	int index = event_set_find(stalls->counters->set, name);
	return index < 0 ? NULL : &stalls->counters->set->events[index];
}

bool stalls_read_stream(const struct stalls *stalls, enum capture_stream stream)
{
	for (size_t i = 0; i < stalls->plugin_count; i++)
		if (plugin_reads(stalls->plugins[i], stream))
			return true;
	return false;
}

const char *stalls_caveat(const struct stalls *stalls, size_t index)
{
	bool user_only = stalls->counters && counters_user_only(stalls->counters->counters);
	const char *const texts[STALLS_CAVEATS] = { stalls->no_counters.text,
		user_only ? "stall events are counted in the program only, not in the kernel for "
			    "it: sysctl kernel.perf_event_paranoid=1 allows both"
			  : "",
		stalls->low_share, stalls->unfinished };
	return texts[index];
}

int stalls_prepare(struct stalls *stalls, struct launch_opts *launch, struct err *err)
{
	if (stalls->counters)
		launch->hooks[launch->hook_count++] = counter_watch_hooks(stalls->counters);
	if (!stalls->sync)
		return 0;
	int status = sync_watch_prepare(stalls->sync, err);
	if (status < 0)
		return status;
	char *const *assignments = stalls->sync->env.assignments;
	for (size_t i = 0; i < ARRAY_SIZE(stalls->sync->env.assignments); i++)
		launch->environment[launch->environment_count++] = assignments[i];
	return 0;
}

static int read_counters(struct stalls *stalls, double *values, struct err *err)
{
	const struct counter_watch *watch = stalls->counters;
	if (*watch->failure.text)
		return err_set(err, -EIO, "%s", watch->failure.text);
	for (uint32_t i = 0; i < watch->set->events_count; i++)
		values[i] = watch->values[i];
	if (watch->lowest_share < COUNTERS_LOW_SHARE)
		(void)snprintf(stalls->low_share, sizeof stalls->low_share,
			"some stall event had a counter for %.0f%% of the time only: its figures "
			"are scaled up",
			watch->lowest_share * 100); /* fits */
	return 0;
}

static int read_sync(struct stalls *stalls, double *values, struct err *err)
{
	int status = sync_watch_read(stalls->sync, err);
	if (status < 0)
		return status;
	for (size_t i = 0; i < SYNC_STALLS_CATEGORIES; i++)
		values[i] = stalls->sync->values[i];
	if (stalls->sync->unfinished_waits > 0)
		(void)snprintf(stalls->unfinished, sizeof stalls->unfinished,
			"%llu waits of threads that still waited when the program ended are not in "
			"the stalls",
			(unsigned long long)stalls->sync->unfinished_waits); /* fits */
	return 0;
}

int stalls_read(struct stalls *stalls, const struct capture *capture, uint32_t threads,
	struct timespec start, double **ret, struct err *err)
{
	double *value = stalls->values;
	int status = 0;
	if (stalls->counters) {
		status = read_counters(stalls, value, err);
		value += stalls->counters->set->events_count;
	}
	if (status == 0 && stalls->sync) {
		status = read_sync(stalls, value, err);
		value += SYNC_STALLS_CATEGORIES;
	}
	if (status == 0 && stalls->model) {
		status = stalls->model->values(stalls->model->context, threads, value, err);
		value += stalls->model->count;
	}
	for (size_t i = 0; status == 0 && i < stalls->plugin_count; i++)
		status = plugin_read(stalls->plugins[i], capture, threads, start, value++, err);
	if (status < 0)
		return status;
	for (size_t i = 0; i < stalls->count; i++)
		stalls->values[i] *= stalls->columns[i].scale;
	*ret = stalls->values;
	return 0;
}
