/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/counter_watch.h"

#include "base/datadir.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Takes over the set in any case. */
static int watch_set(struct event_set *set, struct counter_watch **ret, struct err *err)
{
	AUTO(counter_watch) struct counter_watch *watch = calloc(1, sizeof *watch);
	if (!watch) {
		event_set_free(set);
		return err_set(err, -ENOMEM, "out of memory");
	}
	watch->set = set;
	watch->lowest_share = 1;
	watch->values = calloc(set->events_count + 1, sizeof *watch->values);
	if (!watch->values)
		return err_set(err, -ENOMEM, "out of memory");
	int status = counters_new(set, &counter_source_kernel, &watch->counters, err);
	if (status < 0)
		return status;
	*ret = TAKE(watch);
	return 0;
}

int counter_watch_new(const struct machine_cpu *cpu, struct counter_watch **ret, struct err *err)
{
	AUTO_FREE char *folder = NULL;
	int status = datadir_find("events", &folder, err);
	if (status < 0)
		return status;
	struct event_set *set;
	status = event_set_for_cpu(folder, cpu, &set, err);
	if (status < 0)
		return status;
	return watch_set(set, ret, err);
}

void counter_watch_free(struct counter_watch *watch)
{
	if (!watch)
		return;
	counters_free(watch->counters);
	event_set_free(watch->set);
	free(watch->values);
	free(watch);
}

static int attach(void *context, pid_t pid, struct err *err)
{
	struct counter_watch *watch = context;
	return counters_attach(watch->counters, pid, err);
}

static void read_values(void *context, pid_t pid)
{
	(void)pid;
	struct counter_watch *watch = context;
	watch->failure.text[0] = '\0';
	size_t count = counters_count(watch->counters);
	AUTO_FREE double *shares = calloc(count + 1, sizeof *shares);
	int status = shares ? counters_read(watch->counters, watch->values, shares, &watch->failure)
			    : err_set(&watch->failure, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++) {
		if (status < 0)
			watch->values[i] = NAN;
		else if (shares[i] < watch->lowest_share)
			watch->lowest_share = shares[i];
	}
}

struct launch_hooks counter_watch_hooks(struct counter_watch *watch)
{
	return (struct launch_hooks){ .at_start = attach, .at_end = read_values, .context = watch };
}
