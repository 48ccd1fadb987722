/* SPDX-License-Identifier: MIT */
/* What a program says about itself by include/corecast/probe.h. */
#include "marks.h"

#include "trace.h"
#include "tuned.h"

#include <corecast/probe.h>

#include <string.h>

enum { REGIONS_MAX = 256 }; /* more have no names */

/* A region's number is where its name stands in memory; each process tells every name once. */
static const char *told[REGIONS_MAX];

void marks_forget(void)
{
	memset(told, 0, sizeof(told));
}

static void tell(const char *name)
{
	uint64_t hash = (uintptr_t)name * 0x9e3779b97f4a7c15ull >> 32;
	for (uint32_t probe = 0; probe < REGIONS_MAX; probe++) {
		const char **place = &told[(hash + probe) % REGIONS_MAX];
		if (*place == name)
			return;
		if (*place)
			continue;
		*place = name; /* two threads at once may tell it twice */
		trace_name(TRACE_REGION, (uintptr_t)name, 0, name);
		return;
	}
}

EXPORT void corecast_probe_mark(int mark, const char *name, uint64_t value)
{
	static const uint8_t kinds[] = {
		[CORECAST_REGION_BEGIN] = TRACE_REGION_BEGIN,
		[CORECAST_REGION_END] = TRACE_REGION_END,
		[CORECAST_REQUEST_BEGIN] = TRACE_REQUEST_BEGIN,
		[CORECAST_REQUEST_END] = TRACE_REQUEST_END,
		[CORECAST_TICK] = TRACE_TICK,
	};
	if (mark == CORECAST_TICK)
		tuned_tick(value);
	if (!is_tracing() || mark < 0 || mark > CORECAST_TICK)
		return;
	if (name)
		tell(name);
	trace_mark(
		kinds[mark], name ? TRACE_REGION : TRACE_WHAT_NONE, (uintptr_t)name, value, CALLER);
}
