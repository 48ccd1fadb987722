/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/trace_branches.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

ptrdiff_t trace_branches(const struct full_trace *trace, uint32_t thread, size_t skip, size_t most,
	struct branch **ret)
{
	AUTO_FREE struct full_trace_cursor *cursor = malloc(sizeof(*cursor));
	if (!cursor)
		return -ENOMEM;
	AUTO_FREE struct branch *branches = NULL;
	size_t count = 0, capacity = 0, code_count;
	const struct code *codes = full_trace_codes(trace, &code_count);
	*cursor = full_trace_start(trace, thread);
	while (count < most && full_trace_next(cursor)) {
		for (size_t i = 0; i < cursor->count && count < most; i++) {
			const struct micro_op *op = &cursor->ops[i];
			if (codes[op->code].class != CODE_BRANCH)
				continue;
			if (skip > 0) {
				skip--;
				continue;
			}
			if (mem_grow(&branches, &capacity, count + 1, sizeof(*branches)) < 0)
				return -ENOMEM;
			branches[count++] = (struct branch){ codes[op->code].address, op->taken };
		}
	}
	*ret = TAKE(branches);
	return (ptrdiff_t)count;
}
