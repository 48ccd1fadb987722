/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/bpf_recording.h"

#include "base/clock.h"

/* 170,000 events wait in the buffer between two readings, 8 million a second. */
enum { BUFFER_BYTES = 16 << 20, READ_MS = 20 };

void bpf_recording_release(struct bpf_recording *recording)
{
	(void)periodic_stop(&recording->reader); /* nobody asks any more */
	bpf_watch_free(recording->watch);
	bpf_timeline_release(&recording->timeline);
	*recording = (struct bpf_recording){ 0 };
}

static int drain(void *context)
{
	struct bpf_recording *recording = context;
	bpf_timeline_pause(&recording->timeline);
	return bpf_watch_drain(recording->watch, bpf_timeline_take, &recording->timeline);
}

int bpf_recording_start(struct bpf_recording *recording, const struct record_opts *opts, pid_t pid,
	struct event_sink sink, struct err *err)
{
	const struct bpf_watch_opts how = {
		.pid = pid, .has_disk = opts->has_disk, .event_bytes = BUFFER_BYTES
	};
	recording->timeline.is_before_exec = opts->argv != NULL;
	recording->timeline.sink = sink;
	int status = bpf_watch_open(&how, &recording->watch, err);
	return status < 0 ? status
			  : periodic_start(&recording->reader, drain, recording, READ_MS, err);
}

int bpf_recording_finish(struct bpf_recording *recording, uint64_t *ret_lost, struct err *err)
{
	uint64_t losses[WATCH_LOSSES];
	bpf_watch_stop(recording->watch);
	int status = periodic_stop(&recording->reader);
	bpf_watch_losses(recording->watch, losses);
	uint64_t lost = losses[WATCH_LOST_EVENT] + losses[WATCH_LOST_THREAD];
	if (status == 0)
		status = drain(recording);
	if (status == 0)
		/* later than all that was told */
		status = bpf_timeline_finish(
			&recording->timeline, clock_now_ns(CLOCK_MONOTONIC), lost);
	if (status < 0)
		return err_set(err, status, "%s", recording->timeline.err.text);
	*ret_lost += lost;
	return 0;
}

uint32_t bpf_recording_processes(const struct bpf_recording *recording)
{
	return (uint32_t)recording->timeline.processes.count;
}
