/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_dump FILE: how much of what each thread of a full trace executed; an example of full_trace.h. */
#include "full_trace.h"

#include <inttypes.h>
#include <stdio.h>

struct totals {
	uint64_t instructions, accesses, taken, stretches;
	uint64_t classes[CODE_CLASSES];
};

static void count_block(
	const struct full_trace_cursor *cursor, const struct code *codes, struct totals *totals)
{
	totals->instructions += cursor->count;
	totals->accesses += cursor->extra_count;
	totals->stretches = cursor->stretches + 1;
	for (size_t i = 0; i < cursor->count; i++) {
		totals->accesses += cursor->ops[i].address != 0;
		totals->taken += cursor->ops[i].taken;
		totals->classes[codes[cursor->ops[i].code].class]++;
	}
}

static void print_thread(const struct full_trace *trace, uint32_t thread)
{
	size_t count = 0;
	const struct code *codes = full_trace_codes(trace, &count);
	struct totals totals = { 0 };
	struct full_trace_cursor cursor = full_trace_start(trace, thread);
	while (full_trace_next(&cursor))
		count_block(&cursor, codes, &totals);
	printf("thread %" PRIu32 ": instructions %" PRIu64 " of %" PRIu64 ", accesses %" PRIu64
	       " of %" PRIu64 ", taken %" PRIu64 ", stretches %" PRIu64 "\n",
		thread, totals.instructions, full_trace_thread(trace, thread).instructions,
		totals.accesses, full_trace_thread(trace, thread).accesses, totals.taken,
		totals.stretches);
	for (int class = 0; class < CODE_CLASSES; class ++) {
		if (totals.classes[class])
			printf("  %-12s %" PRIu64 "\n", code_class_name(class),
				totals.classes[class]);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		(void)fprintf(stderr, "usage: trace_dump FILE\n");
		return 2;
	}
	AUTO(full_trace) struct full_trace *trace = NULL;
	struct err err = { 0 };
	if (full_trace_open(argv[1], &trace, &err) < 0) {
		(void)fprintf(stderr, "trace_dump: %s\n", err.text);
		return 1;
	}
	for (uint32_t i = 0; i < full_trace_threads(trace); i++)
		print_thread(trace, i);
	return 0;
}
