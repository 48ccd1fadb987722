/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record_samples.h"

#include "collect/stack_sampler.h"
#include "trace/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { READ_MS = 50 };

struct record_samples {
	struct stack_sampler *sampler;
	struct trace_writer *writer;
	pthread_t reader;
	bool has_reader;
	bool is_over; /* atomic: the reader shall end */
	int status; /* the reader's; after it has ended */
	struct err err;
};

static int drain(struct record_samples *samples, bool is_last)
{
	struct event_sink sink = trace_writer_sink(samples->writer);
	return stack_sampler_drain(samples->sampler, is_last, &sink, &samples->err);
}

static void *read_samples(void *context)
{
	struct record_samples *samples = context;
	const struct timespec pause = { .tv_nsec = READ_MS * 1000000 };
	while (samples->status == 0 && !__atomic_load_n(&samples->is_over, __ATOMIC_ACQUIRE)) {
		samples->status = drain(samples, false);
		(void)nanosleep(&pause, NULL); /* shorter is no harm */
	}
	return NULL;
}

/* Signals are for the thread that waits for the program. */
static int start_reader(struct record_samples *samples, struct err *err)
{
	sigset_t all, before;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail */
	int code = -pthread_create(&samples->reader, NULL, read_samples, samples);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* cannot fail */
	if (code < 0)
		return err_set(err, code, "cannot start a thread: %s", strerror(-code));
	samples->has_reader = true;
	return 0;
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
		code = start_reader(samples, err);
	if (code == 0)
		*ret = TAKE(samples);
	return code;
}

static void stop_reader(struct record_samples *samples)
{
	if (!samples->has_reader)
		return;
	__atomic_store_n(&samples->is_over, true, __ATOMIC_RELEASE);
	(void)pthread_join(samples->reader, NULL); /* it was started, and is not joined twice */
	samples->has_reader = false;
}

void record_samples_stop(struct record_samples *samples, struct record_result *ret)
{
	if (!samples)
		return;
	stop_reader(samples);
	if (samples->status == 0)
		samples->status = drain(samples, true);
	ret->samples = stack_sampler_count(samples->sampler);
	ret->samples_lost = stack_sampler_lost(samples->sampler);
	if (samples->status < 0)
		ret->no_samples = samples->err;
	trace_writer_free(samples->writer);
	samples->writer = NULL;
}

void record_samples_free(struct record_samples *samples)
{
	if (!samples)
		return;
	stop_reader(samples);
	stack_sampler_free(samples->sampler);
	trace_writer_free(samples->writer);
	free(samples);
}
