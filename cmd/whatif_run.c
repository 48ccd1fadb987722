/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a file to predictions. */
#include "timeline_save.h"
#include "whatif_parts.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int load_replay(struct whatif *whatif, struct err *err)
{
	struct replay_opts opts = { .cores = whatif->recorded_cores,
		.wakes = whatif->run.quality.wakes,
		.others = whatif->run.quality.others,
		.meaning = whatif->meaning,
		.name = whatif_name,
		.name_context = whatif };
	replay_free(TAKE(whatif->replay));
	int code = replay_new(&opts, &whatif->replay, err);
	if (code < 0)
		return code;
	struct event_sink sink = replay_sink(whatif->replay);
	code = amended_replay(&whatif->run, &sink, err);
	if (code == 0)
		replay_facts(whatif->replay, &whatif->facts);
	return code;
}

int whatif_load(struct whatif *whatif, FILE *notes, struct err *err)
{
	int code = analysed_read(&whatif->before, &(struct analysis_opts){ 0 }, notes, err);
	if (code == 0 && meaning_new(&whatif->meaning) < 0)
		code = err_set(err, -ENOMEM, "out of memory");
	if (code < 0)
		return code;
	whatif->run.path = whatif->before.path;
	struct event_sink sink = meaning_sink(whatif->meaning);
	code = amended_replay(&whatif->run, &sink, err);
	meaning_forget_ends(whatif->meaning);
	if (whatif->recorded_cores == 0)
		whatif->recorded_cores = whatif->run.quality.cores;
	if (whatif->recorded_cores > REPLAY_CORES_MAX)
		whatif->recorded_cores = REPLAY_CORES_MAX;
	return code < 0 ? code : load_replay(whatif, err);
}

static void forget_points(struct whatif *whatif)
{
	for (size_t i = 0; i < whatif->point_count; i++)
		results_free(whatif->points[i].results);
	free(TAKE(whatif->points));
	whatif->point_count = 0;
}

int whatif_load_again(struct whatif *whatif, struct err *err)
{
	size_t count = 0;
	for (uint32_t cond; replay_stuck(whatif->replay, count, &cond); count++)
		meaning_forget(whatif->meaning, cond);
	forget_points(whatif);
	if (count > 0) {
		whatif->answer.forgotten += count;
		return load_replay(whatif, err);
	}
	if (!replay_settle(whatif->replay))
		return -EDEADLK;
	replay_facts(whatif->replay, &whatif->facts);
	return 0;
}

int whatif_check(struct whatif *whatif, struct err *err)
{
	struct whatif_answer *answer = &whatif->answer;
	int code = replay_run(whatif->replay, &(struct replay_run){ 0 }, &answer->replayed_ns, err);
	if (code < 0)
		return err_prefix(err, code, "%s: the replay", whatif->before.path);
	answer->before = analysed_input(&whatif->before);
	answer->facts = &whatif->facts;
	answer->error = replay_error(whatif->replay, answer->replayed_ns);
	answer->is_within_limit = fabs(answer->error) <= WHATIF_LIMIT;
	answer->changes = whatif->words;
	answer->change_count = whatif->word_count;
	return 0;
}

static int play_last(void *context, const struct event_sink *sink, struct err *err)
{
	const struct whatif *whatif = context;
	uint64_t ns;
	struct replay_run run = { .cores = whatif->points[whatif->point_count - 1].cores,
		.changes = whatif->changes,
		.change_count = whatif->change_count,
		.sink = sink };
	return replay_run(whatif->replay, &run, &ns, err);
}

int whatif_write(struct whatif *whatif, const char *path, struct err *err)
{
	return timeline_save(path, play_last, whatif, err);
}

void whatif_release(struct whatif *whatif)
{
	forget_points(whatif);
	for (size_t i = 0; i < whatif->word_count; i++)
		free(whatif->words[i]);
	free(whatif->words);
	free(whatif->named);
	free(whatif->changes);
	replay_free(whatif->replay);
	meaning_free(whatif->meaning);
	amended_release(&whatif->run);
	analysed_release(&whatif->before);
}
