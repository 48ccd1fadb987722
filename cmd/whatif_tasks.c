/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions: all replays of all points, shared out (share_tasks.h). */
#include "base/plural.h"
#include "share_tasks.h"
#include "whatif_parts.h"

#include "base/strbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a process found out; of a point's first replay also its results, in the point's slot. */
struct found {
	int code; /* -EINTR: nothing yet */
	uint64_t ns;
	size_t packed_bytes;
};

struct sharing {
	struct whatif *whatif;
	uint32_t replications;
	struct found *found; /* by task: point * replications + replication */
	char *slots;
	size_t slot_bytes;
};

/* All slots: memory that is not touched unless results are written there. */
static const size_t SLOTS_BYTES_MAX = (size_t)4 << 30;

/* The first replay of a point is a timeline that is analysed. */
static int play_task(const struct sharing *s, size_t number, uint64_t *ret_ns,
	struct results **ret_results, struct err *err)
{
	const struct whatif *whatif = s->whatif;
	AUTO(analysis) struct analysis *analysis = NULL;
	struct event_sink sink;
	struct replay_run run = { .cores = whatif->points[number / s->replications].cores,
		.seed = number % s->replications,
		.changes = whatif->changes,
		.change_count = whatif->change_count };
	struct analysis_opts opts = { .cores = run.cores };
	if (run.seed > 0)
		return replay_run(whatif->replay, &run, ret_ns, err);
	int code = analysis_new(&opts, &analysis, err);
	if (code < 0)
		return code;
	sink = analysis_sink(analysis);
	run.sink = &sink;
	code = replay_run(whatif->replay, &run, ret_ns, err);
	return code < 0 ? code : analysis_results(analysis, ret_results, err);
}

static int put_results(const struct sharing *s, size_t number, const struct results *results)
{
	AUTO_RELEASE(strbuf) struct strbuf packed = { 0 };
	int code = results_pack(results, &packed);
	if (code < 0 || packed.length > s->slot_bytes)
		return code < 0 ? code : -ENOSPC;
	memcpy(s->slots + number / s->replications * s->slot_bytes, packed.text, packed.length);
	s->found[number].packed_bytes = packed.length;
	return 0;
}

static void play(void *context, size_t number)
{
	const struct sharing *s = context;
	struct found *found = &s->found[number];
	AUTO(results) struct results *results = NULL;
	int code = play_task(s, number, &found->ns, &results, NULL);
	if (code == 0 && results)
		code = put_results(s, number, results);
	found->code = code;
}

/*
 * A task that failed is played again here, where it leaves what went wrong; one whose results found no place is only played here.
 */
static int take(const struct sharing *s, size_t number, uint64_t *ret_ns, struct err *err)
{
	const struct found *found = &s->found[number];
	size_t at = number / s->replications;
	struct whatif_point *point = &s->whatif->points[at];
	if (found->code < 0) {
		int code = play_task(s, number, ret_ns, &point->results, err);
		return code < 0 ? err_prefix(err, code, "on %u core%s", point->cores,
					  plural(point->cores))
				: 0;
	}
	*ret_ns = found->ns;
	if (number % s->replications > 0)
		return 0;
	if (results_unpack(s->slots + at * s->slot_bytes, found->packed_bytes, &point->results) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int take_point(const struct sharing *s, size_t at, struct err *err)
{
	struct whatif_point *point = &s->whatif->points[at];
	struct replay_spread spread = { .error = s->whatif->answer.error,
		.replayed_ns = s->whatif->answer.replayed_ns };
	for (uint32_t i = 0; i < s->replications; i++) {
		uint64_t ns = 0;
		int code = take(s, at * s->replications + i, &ns, err);
		if (code < 0)
			return code;
		if (i == 0)
			spread.predicted_ns = spread.least_ns = spread.most_ns = ns;
		spread.least_ns = ns < spread.least_ns ? ns : spread.least_ns;
		spread.most_ns = ns > spread.most_ns ? ns : spread.most_ns;
	}
	point->predicted_ns = spread.predicted_ns;
	replay_interval(&spread, &point->low_ns, &point->high_ns);
	return 0;
}

/* A prediction's results are about as large as those of the recording. */
static size_t slot_size(const struct whatif *whatif)
{
	AUTO_RELEASE(strbuf) struct strbuf packed = { 0 };
	size_t most = SLOTS_BYTES_MAX / whatif->point_count;
	if (results_pack(whatif->answer.before.results, &packed) < 0)
		return 0;
	return packed.length < most / 2 ? 2 * packed.length : most;
}

static int share(struct sharing *s, struct share_tasks *tasks, struct err *err)
{
	size_t found_bytes = tasks->count * sizeof *s->found;
	s->slot_bytes = slot_size(s->whatif);
	tasks->bytes = found_bytes + s->whatif->point_count * s->slot_bytes;
	int code = share_tasks_prepare(tasks, err);
	if (code < 0)
		return code;
	s->found = tasks->memory;
	s->slots = (char *)tasks->memory + found_bytes;
	for (size_t i = 0; i < tasks->count; i++)
		s->found[i].code = -EINTR;
	code = share_tasks_run(tasks, err);
	return code == 0 && tasks->was_interrupted ? err_set(err, -EINTR, "interrupted") : code;
}

static int predict(struct whatif *whatif, const struct whatif_opts *opts, struct err *err)
{
	struct sharing s = { .whatif = whatif, .replications = opts->replications };
	AUTO_RELEASE(share_tasks)
	struct share_tasks tasks = { .count = whatif->point_count * opts->replications,
		.play = play,
		.context = &s,
		.jobs = opts->jobs,
		.is_local = true,
		.verb = "replayed",
		.noun = "replications",
		.shows_progress = isatty(STDERR_FILENO) };
	int code = share(&s, &tasks, err);
	for (size_t i = 0; code == 0 && i < whatif->point_count; i++)
		code = take_point(&s, i, err);
	return code;
}

int whatif_predict(struct whatif *whatif, const struct whatif_opts *opts, struct err *err)
{
	whatif->point_count = opts->core_count ? opts->core_count : 1;
	whatif->points = calloc(whatif->point_count, sizeof *whatif->points);
	if (!whatif->points) {
		whatif->point_count = 0;
		return err_set(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < whatif->point_count; i++)
		whatif->points[i].cores = opts->core_count ? opts->cores[i] : whatif->facts.cores;
	int code = predict(whatif, opts, err);
	whatif->answer.points = whatif->points;
	whatif->answer.point_count = whatif->point_count;
	return code;
}
