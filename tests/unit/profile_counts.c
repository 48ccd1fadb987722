/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The emulator's plugin on tests/programs/counted.S, of which everything is known. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/datadir.h"
#include "bench/full_trace.h"
#include "plugin/profile_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* By hand, from the program's text. */
enum {
	ALTERNATIONS = 5000,
	ROUNDS = 160, /* so that all is within the first window of branches */
	LINES = 256,
	ADDITIONS = 1000,
	STRING_LINES = 64,
	CALLS = 500,
	INSTRUCTIONS = 1 + ALTERNATIONS * 4 + ALTERNATIONS / 2 + 1 + ROUNDS * (4 + LINES * 4) + 1 +
		       ADDITIONS * 3 + 4 + 1 + CALLS * 6 + 3,
	BRANCHES = ALTERNATIONS * 2 + ROUNDS * (LINES + 1) + ADDITIONS + CALLS,
	TAKEN = ALTERNATIONS / 2 + ALTERNATIONS - 1 + ROUNDS * (LINES - 1) + ROUNDS - 1 +
		ADDITIONS - 1 + CALLS - 1,
	JUMPS = CALLS * 2,
	LOADS = ROUNDS * LINES + ADDITIONS + CALLS * 2,
	STORES = ADDITIONS + STRING_LINES + CALLS * 2,
	/* One of an addition, which loads and stores. */
	ACCESSES = ROUNDS * LINES + ADDITIONS + STRING_LINES + CALLS * 4,
	STACK_AND_DATA_LINES = LINES + 1,
};

struct sums {
	struct raw_counts counts;
	struct raw_thread thread;
	double reuse[RAW_PAGE + 1][RAW_REUSE_BINS];
	struct raw_branches branches[RAW_HISTORIES];
	uint64_t codes, micro_traces;
	uint64_t first_address;
	bool is_ended;
};

static char raw_path[64];

/* Runs the program; false if there is no emulator or plugin here. */
static bool run(const char *options)
{
	AUTO_FREE char *plugin = NULL, *program = NULL, *command = NULL;
	if (system("command -v qemu-x86_64 >/dev/null 2>&1") != 0 ||
		datadir_find("plugin/libcorecast-profile.so", &plugin, NULL) < 0 ||
		datadir_find("tests/programs/counted", &program, NULL) < 0)
		return false;
	assert_true(asprintf(&command, "qemu-x86_64 -plugin '%s',out=%s%s '%s'", plugin, raw_path,
			    options, program) > 0);
	assert_int_equal(system(command), 0);
	return true;
}

static void add_counts(struct sums *sums, const struct raw_counts *counts)
{
	assert_int_equal(counts->stretch, 0);
	sums->counts.stretches += counts->stretches;
	sums->counts.instructions += counts->instructions;
	sums->counts.loads += counts->loads;
	sums->counts.stores += counts->stores;
	sums->counts.fetches += counts->fetches;
	sums->counts.first_touches += counts->first_touches;
	for (int i = 0; i < RAW_MIX; i++)
		sums->counts.mix[i] += counts->mix[i];
}

static void add_record(struct sums *sums, uint32_t kind, const void *payload)
{
	const struct raw_reuse *reuse = payload;
	const struct raw_branches *branches = payload;
	switch (kind) {
	case RAW_CODE:
		if (sums->codes++ == 0)
			sums->first_address = ((const struct raw_code *)payload)->address;
		break;
	case RAW_THREAD:
		sums->thread = *(const struct raw_thread *)payload;
		break;
	case RAW_COUNTS:
		add_counts(sums, payload);
		break;
	case RAW_REUSE:
		sums->reuse[reuse->scope][reuse->bin] += reuse->count;
		break;
	case RAW_BRANCHES:
		sums->branches[branches->history].executions += branches->executions;
		sums->branches[branches->history].entropy += branches->entropy;
		sums->branches[branches->history].floor_entropy += branches->floor_entropy;
		sums->branches[branches->history].missed += branches->missed;
		break;
	case RAW_MICRO:
		sums->micro_traces++;
		break;
	case RAW_END:
		sums->is_ended = true;
		break;
	default:
		break;
	}
}

static void read_raw(struct sums *sums)
{
	struct raw_header header;
	struct raw_record record;
	static uint64_t payload[1 << 16];
	FILE *file = fopen(raw_path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
	while (fread(&record, sizeof(record), 1, file) == 1) {
		size_t words = (record.bytes + (size_t)7) / 8;
		assert_true(words <= sizeof(payload) / 8);
		assert_int_equal(fread(payload, 8, words, file), words);
		add_record(sums, record.kind, payload);
	}
	(void)fclose(file);
}

static void profile_or_skip(struct sums *sums)
{
	*sums = (struct sums){ 0 };
	if (!run(""))
		skip();
	read_raw(sums);
	assert_true(sums->is_ended);
}

static void every_instruction_is_counted(void **state)
{
	(void)state;
	struct sums sums;
	profile_or_skip(&sums);
	const uint64_t *mix = sums.counts.mix;
	assert_int_equal(sums.counts.stretches, 1);
	assert_int_equal(sums.counts.instructions, INSTRUCTIONS);
	assert_int_equal(sums.thread.instructions, INSTRUCTIONS);
	assert_int_equal(mix[CODE_BRANCH], BRANCHES);
	assert_int_equal(mix[CODE_JUMP], JUMPS);
	assert_int_equal(mix[CODE_STRING], 1);
	assert_int_equal(mix[CODE_SYSTEM], 1);
	assert_int_equal(mix[CODE_NOP], ALTERNATIONS / 2 + 2); /* and two zeroing idioms */
	assert_int_equal(sums.counts.loads, LOADS);
	assert_int_equal(sums.counts.stores, STORES);
	assert_int_equal(sums.thread.accesses, ACCESSES);
	assert_true(sums.micro_traces > 0);
}

static void distances_are_those_of_the_loops(void **state)
{
	(void)state;
	struct sums sums;
	profile_or_skip(&sums);
	for (int scope = RAW_PRIVATE; scope <= RAW_GLOBAL; scope++) {
		const double *bins = sums.reuse[scope];
		double all = 0;
		for (int i = 0; i < RAW_REUSE_INFINITE; i++)
			all += bins[i];
		double walk = bins[raw_reuse_bin(LINES - 1)];
		/* 1,000 samples: three deviations are 7%. */
		assert_true(walk > 0.93 * ROUNDS * LINES && walk < 1.07 * ROUNDS * LINES);
		assert_true(bins[0] > 0.7 * (ADDITIONS + CALLS * 4));
		assert_true(bins[0] < 1.3 * (ADDITIONS + CALLS * 4));
		/* But for what lies between two loops. */
		assert_true(all - walk - bins[0] < 0.02 * all);
	}
	/* One line in 64 is looked at. */
	assert_true(sums.counts.first_touches >= STACK_AND_DATA_LINES / 4);
	assert_true(sums.counts.first_touches <= STACK_AND_DATA_LINES * 3);
}

static void pages_come_again_sooner_than_their_lines(void **state)
{
	(void)state;
	struct sums sums;
	profile_or_skip(&sums);
	double lines = 0, pages = 0, soon = 0;
	for (int i = 0; i < RAW_REUSE_BINS; i++) {
		lines += sums.reuse[RAW_PRIVATE][i];
		pages += sums.reuse[RAW_PAGE][i];
		soon += i < 8 ? sums.reuse[RAW_PAGE][i] : 0;
	}
	/* One in four of the samples of lines: some hundred. */
	assert_true(pages > 0.7 * lines && pages < 1.3 * lines);
	/* A walk leaves a page at one step in 64. */
	assert_true(soon > 0.93 * pages);
}

static void alternation_is_foreseen_by_history(void **state)
{
	(void)state;
	struct sums sums;
	profile_or_skip(&sums);
	const struct raw_branches *none = &sums.branches[0], *eight = &sums.branches[1];
	assert_true(none->executions > 2.9 * ALTERNATIONS);
	assert_true(none->executions <= BRANCHES);
	/* Half of the alternating branch's outcomes go one way, and each walk ends once. */
	double ends = (none->executions - 2.0 * ALTERNATIONS) * 2 / LINES;
	assert_true(none->floor_entropy > 0.98 * (ALTERNATIONS + 0.8 * ends));
	assert_true(none->floor_entropy < 1.02 * (ALTERNATIONS + 1.2 * ends));
	assert_true(eight->floor_entropy < 1.3 * ends);
	assert_true(eight->entropy < 1.3 * ends + 200);
	assert_true(eight->entropy >= eight->floor_entropy);
	/* A counter of an alternating branch misses half of it or all. */
	assert_true(none->missed > 0.45 * ALTERNATIONS);
	assert_true(eight->missed < 1.3 * ends + 200);
	assert_true(sums.branches[RAW_CHOICE].missed < eight->missed + 0.05 * ALTERNATIONS);
	assert_true(sums.branches[RAW_CHOICE].executions == none->executions);
}

static void lines_of_instructions_are_few(void **state)
{
	(void)state;
	struct sums sums;
	profile_or_skip(&sums);
	/* The text is three lines. */
	assert_true(sums.reuse[RAW_FETCH][RAW_REUSE_INFINITE] >= 2);
	assert_true(sums.reuse[RAW_FETCH][RAW_REUSE_INFINITE] <= 3);
	for (int i = 3; i < RAW_REUSE_INFINITE; i++)
		assert_true(sums.reuse[RAW_FETCH][i] == 0);
}

/* What the trace has of each kind, and whether the walk goes from line to line. */
static void count_trace(const struct full_trace *trace, uint64_t *instructions, uint64_t *accesses,
	uint64_t *taken, uint64_t *steps)
{
	size_t count = 0;
	const struct code *codes = full_trace_codes(trace, &count);
	uint64_t last = 0;
	struct full_trace_cursor cursor = full_trace_start(trace, 0);
	while (full_trace_next(&cursor)) {
		*instructions += cursor.count;
		*accesses += cursor.extra_count;
		for (size_t i = 0; i < cursor.count; i++) {
			const struct micro_op *op = &cursor.ops[i];
			*accesses += op->address != 0;
			*taken += op->taken && codes[op->code].class == CODE_BRANCH;
			*steps += op->address != 0 && op->address == last + 64;
			last = op->address ? op->address : last;
		}
	}
}

/* From wherever it is sought, it goes on as it does from the start. */
static void seek_everywhere(const struct full_trace *trace)
{
	struct full_trace_cursor sought = full_trace_start(trace, 0);
	struct full_trace_cursor cursor = full_trace_start(trace, 0);
	uint64_t before = 0;
	size_t op = 0;
	for (int block = 0; full_trace_next(&cursor); before += cursor.count) {
		if (block++ % 97 > 0)
			continue;
		size_t last = cursor.count - 1;
		assert_true(full_trace_seek(&sought, before + last, &op));
		assert_int_equal(op, last);
		assert_int_equal(sought.count, cursor.count);
		assert_int_equal(sought.ops[last].code, cursor.ops[last].code);
		assert_int_equal(sought.ops[last].address, cursor.ops[last].address);
	}
	assert_false(full_trace_seek(&sought, before, &op));
}

static void a_full_trace_has_everything(void **state)
{
	(void)state;
	AUTO(full_trace) struct full_trace *trace = NULL;
	struct err err = { 0 };
	uint64_t instructions = 0, accesses = 0, taken = 0, steps = 0;
	if (!run(",trace=on"))
		skip();
	assert_int_equal(full_trace_open(raw_path, &trace, &err), 0);
	assert_int_equal(full_trace_threads(trace), 1);
	count_trace(trace, &instructions, &accesses, &taken, &steps);
	assert_int_equal(instructions, INSTRUCTIONS);
	assert_int_equal(accesses, ACCESSES);
	assert_int_equal(taken, TAKEN);
	assert_int_equal(steps, ROUNDS * (LINES - 1));
	seek_everywhere(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction_is_counted),
		cmocka_unit_test(distances_are_those_of_the_loops),
		cmocka_unit_test(pages_come_again_sooner_than_their_lines),
		cmocka_unit_test(alternation_is_foreseen_by_history),
		cmocka_unit_test(lines_of_instructions_are_few),
		cmocka_unit_test(a_full_trace_has_everything),
	};
	(void)snprintf(raw_path, sizeof(raw_path), "/tmp/corecast_counts.XXXXXX");
	int fd = mkstemp(raw_path);
	if (fd < 0)
		return 1;
	(void)close(fd);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(raw_path);
	return failed;
}
