/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any timeline can be replayed, or is refused: also on other cores, with a lock made faster. */
#include "fuzz.h"

#include "meaning/meaning.h"
#include "replay/replay.h"
#include "trace/csv_read.h"

#define DURATION_MAX_NS UINT64_C(100000000000)

static int read_into(const struct event_sink *sink, const uint8_t *data, size_t size)
{
	AUTO_FILE FILE *in = fuzz_open(data, size);
	struct err err = { "" };
	return timeline_csv_read(in, "input", sink, NULL, &err);
}

static void play(struct replay *replay, const struct replay_run *run)
{
	struct err err = { "" };
	uint64_t ns = UINT64_MAX, again = UINT64_MAX;
	int code = replay_run(replay, run, &ns, &err);
	fuzz_check((code < 0) == (err.text[0] != '\0'));
	fuzz_check(replay_run(replay, run, &again, &err) == code && again == ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(meaning) struct meaning *meaning = NULL;
	AUTO(replay) struct replay *replay = NULL;
	struct err err = { "" };
	if (meaning_new(&meaning) < 0)
		return 0;
	struct event_sink sink = meaning_sink(meaning);
	if (read_into(&sink, data, size) < 0)
		return 0;
	struct replay_opts opts = { .cores = 2, .meaning = meaning };
	if (replay_new(&opts, &replay, &err) < 0)
		return 0;
	sink = replay_sink(replay);
	if (read_into(&sink, data, size) < 0)
		return 0;
	/* The scheduler's slices of a long run take long, and are all alike. */
	struct replay_facts facts;
	replay_facts(replay, &facts);
	if (facts.measured_ns > DURATION_MAX_NS)
		return 0;
	struct replay_target site = { 0 };
	struct replay_change change = { .factor = 3 };
	if (replay_site(replay, 0, &site))
		change.target = site;
	play(replay, &(struct replay_run){ .cores = 2 });
	play(replay, &(struct replay_run){
			     .cores = 7, .seed = 3, .changes = &change, .change_count = 1 });
	return 0;
}
