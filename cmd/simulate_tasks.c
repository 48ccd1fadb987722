/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "simulate_tasks.h"

#include "base/cleanup.h"
#include "model/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static size_t count_all(const struct tasks *tasks)
{
	return grid_size(tasks->grid) * tasks->replications;
}

static void play(void *context, size_t number)
{
	const struct tasks *tasks = context;
	struct simulated_run *run = &tasks->results.runs[number];
	AUTO_FREE double *parameters =
		calloc(tasks->model->parameter_count + 1, sizeof *parameters);
	struct err err = { "out of memory" };
	int code = -ENOMEM;
	if (parameters) {
		grid_setting(tasks->grid, tasks->model, number / tasks->replications, parameters);
		const struct sample_options options = {
			.model = tasks->model,
			.parameters = parameters,
			.seed = tasks->seed + number % tasks->replications,
			.requests = tasks->requests,
			.duration_s = tasks->duration_s,
		};
		code = sample_run(
			&options, tasks->results.rows + number * sample_size(tasks->model), &err);
	}
	if (code < 0)
		snprintf(run->text, sizeof run->text, "%.*s", (int)sizeof run->text - 1, err.text);
	run->code = code;
}

/* All runs not done yet; with mpirun all are done, and "not done" would be no 0. */
static void begin_runs(struct tasks *tasks, size_t rows)
{
	tasks->results.replications = tasks->replications;
	tasks->results.rows = tasks->share.memory;
	tasks->results.runs = (struct simulated_run *)(void *)((char *)tasks->results.rows + rows);
	for (size_t i = 0; i < tasks->share.count && !mpi_is_used(); i++)
		tasks->results.runs[i].code = -EINTR;
}

int tasks_run(struct tasks *tasks, struct err *err)
{
	size_t count = count_all(tasks), rows, bytes;
	if (__builtin_mul_overflow(count, sample_size(tasks->model) * sizeof(double), &rows) ||
		__builtin_add_overflow(rows, count * sizeof(struct simulated_run), &bytes))
		return err_set(err, -E2BIG, "too many replications");
	tasks->share = (struct share_tasks){ .count = count,
		.play = play,
		.context = tasks,
		.bytes = bytes,
		.jobs = tasks->jobs,
		.verb = "simulated",
		.noun = "replications",
		.shows_progress = tasks->shows_progress };
	int code = share_tasks_prepare(&tasks->share, err);
	if (code < 0)
		return code;
	begin_runs(tasks, rows);
	code = share_tasks_run(&tasks->share, err);
	tasks->was_interrupted = tasks->share.was_interrupted;
	tasks->is_silent = tasks->share.is_silent;
	return code;
}

void tasks_release(struct tasks *tasks)
{
	share_tasks_release(&tasks->share);
}
