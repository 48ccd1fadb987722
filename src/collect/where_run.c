/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/where_run.h"

#include "base/strbuf.h"
#include "collect/event_code.h"
#include "collect/sync_watch.h"

#include <errno.h>
#include <string.h>

static const char sync_prefix[] = "sync_";
static const char all_waits[] = "sync";
static const char processor_time[] = "cpu";

/* A sampler during one launch. */
struct sampling {
	struct sampler *sampler;
	struct samples *samples;
	struct err failure; /* of the end, which cannot fail by itself */
};

static bool is_waits(const struct measurement *m, const char *category)
{
	const struct sync_watch *sync = stalls_sync(measurement_stalls(m));
	if (!sync)
		return false;
	if (strcmp(category, all_waits) == 0)
		return true;
	for (size_t i = 0; i < SYNC_STALLS_CATEGORIES; i++)
		if (strcmp(category, sync->names[i]) == 0)
			return true;
	return false;
}

int where_run_check(const struct measurement *m, const char *category, struct err *err)
{
	const struct stalls *stalls = measurement_stalls(m);
	if (strcmp(category, processor_time) == 0 || is_waits(m, category) ||
		stalls_event(stalls, category))
		return 0;
	AUTO_RELEASE(strbuf) struct strbuf known = { 0 };
	size_t count;
	const char *const *names = stalls_names(stalls, &count);
	strbuf_add(&known, processor_time);
	for (size_t i = 0; i < count; i++)
		if (is_waits(m, names[i]) || stalls_event(stalls, names[i]))
			strbuf_addf(&known, ", %s", names[i]);
	if (stalls_sync(stalls))
		strbuf_addf(&known, ", %s", all_waits);
	else
		strbuf_add(&known, "; with --sync-stalls also waits");
	if (strbuf_failed(&known) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return err_set(err, -EINVAL, "--where %s: the code behind that is not known; known: %s",
		category, known.text);
}

static int attach(void *context, pid_t pid, struct err *err)
{
	struct sampling *sampling = context;
	return sampler_attach(sampling->sampler, pid, err);
}

static void drain(void *context, pid_t pid)
{
	(void)pid;
	struct sampling *sampling = context;
	(void)sampler_drain(sampling->sampler); /* what is missing is counted as lost */
}

static void finish(void *context, pid_t pid)
{
	(void)pid;
	struct sampling *sampling = context;
	(void)sampler_finish(
		sampling->sampler, &sampling->samples, &sampling->failure); /* samples tell */
}

static int sample(struct measurement *m, const char *category, uint32_t threads,
	struct sampling *sampling, struct err *err)
{
	const struct event_spec *event = stalls_event(measurement_stalls(m), category);
	struct perf_event_attr attr = { .size = sizeof attr };
	int status = event ? event_code(event, &attr) : 0;
	if (status < 0)
		return err_set(err, status, "event '%s' has no code on this processor", category);
	status = sampler_new(event ? &attr : NULL, &sampling->sampler, err);
	if (status < 0)
		return status;
	struct launch_hooks hooks = { attach, drain, finish, sampling };
	return measurement_launch(m, threads, &hooks, NULL, err);
}

static int where_samples(struct measurement *m, const char *category, uint32_t threads,
	struct where **ret, struct err *err)
{
	struct sampling sampling = { 0 };
	int outcome = sample(m, category, threads, &sampling, err);
	if (outcome == MEASURED) {
		int status = sampling.samples
				     ? where_from_samples(sampling.samples, category, ret, err)
				     : err_set(err, -ENOMEM, "%s", sampling.failure.text);
		outcome = status < 0 ? status : MEASURED;
	}
	samples_free(sampling.samples);
	sampler_free(sampling.sampler);
	return outcome;
}

static int where_waits(struct measurement *m, const char *category, uint32_t threads,
	struct where **ret, struct err *err)
{
	int outcome = measurement_launch(m, threads, NULL, NULL, err);
	if (outcome != MEASURED)
		return outcome;
	AUTO(sync_stalls) struct sync_stalls *record = NULL;
	int status = sync_stalls_read(stalls_sync(measurement_stalls(m))->path, &record, err);
	if (status < 0)
		return status;
	size_t skip = strcmp(category, all_waits) == 0 ? 0 : strlen(sync_prefix);
	status = where_from_waits(record, category + skip, ret, err);
	return status < 0 ? status : MEASURED;
}

int where_run(struct measurement *m, const char *category, uint32_t threads, struct where **ret,
	struct err *err)
{
	int status = where_run_check(m, category, err);
	if (status < 0)
		return status;
	return is_waits(m, category) ? where_waits(m, category, threads, ret, err)
				     : where_samples(m, category, threads, ret, err);
}
