/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/record_samples.h"

#include "collect/periodic.h"
#include "record/stack_sampler.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdlib.h>

enum { READ_MS = 50 };

struct record_samples {
	struct stack_sampler *sampler;
	struct trace_writer *writer;
	struct periodic reader;
	struct err err;
};

static int drain(struct record_samples *samples, bool is_last)
{
	struct event_sink sink = trace_writer_sink(samples->writer);
	return stack_sampler_drain(samples->sampler, is_last, &sink, &samples->err);
}

static int drain_again(void *context)
{
	return drain(context, false);
}

int record_samples_start(const struct record_opts *opts, pid_t pid, struct record_samples **ret,
	struct record_result *ret_result, struct err *err)
{
	*ret = NULL;
	if (opts->samples_hz == 0)
		return 0;
	AUTO(record_samples) struct record_samples *samples = calloc(1, sizeof *samples);
	if (!samples)
		return err_set(err, -ENOMEM, "out of memory");
	int code = stack_sampler_new(
		pid, opts->samples_hz, !opts->argv, &samples->sampler, &ret_result->no_samples);
	if (code < 0 && !opts->needs_samples)
		return 0;
	if (code < 0)
		return err_set(err, code, "%s", ret_result->no_samples.text);
	code = trace_writer_join(opts->path, 0, false, &samples->writer, err);
	if (code == 0)
		code = periodic_start(&samples->reader, drain_again, samples, READ_MS, err);
	if (code == 0)
		*ret = TAKE(samples);
	return code;
}

void record_samples_stop(struct record_samples *samples, struct record_result *ret)
{
	if (!samples)
		return;
	int status = periodic_stop(&samples->reader);
	if (status == 0)
		status = drain(samples, true);
	ret->samples = stack_sampler_count(samples->sampler);
	ret->samples_lost = stack_sampler_lost(samples->sampler);
	if (status < 0)
		ret->no_samples = samples->err;
	trace_writer_free(samples->writer);
	samples->writer = NULL;
}

void record_samples_free(struct record_samples *samples)
{
	if (!samples)
		return;
	(void)periodic_stop(&samples->reader); /* nobody asks any more */
	stack_sampler_free(samples->sampler);
	trace_writer_free(samples->writer);
	free(samples);
}
