/* SPDX-License-Identifier: MIT */
/* Which sink there is, as the environment says. The library of programs that are only tuned goes without this file. */
#include "aggregate.h"
#include "live.h"
#include "live_page.h"
#include "profiled.h"
#include "sink.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>

__attribute__((constructor)) static void set_up(void)
{
	int kept = errno;
	const char *trace = getenv(TRACE_PATH_VARIABLE);
	const char *sync = getenv(SYNC_PATH_VARIABLE);
	const char *live = getenv(LIVE_PAGE_ENVIRONMENT);
	const char *profile = trace ? getenv(PROFILE_PAGE_ENVIRONMENT) : NULL;
	if (profile && profiled_attach(profile)) /* without it, it is a trace like others */
		profiled_try_calls();
	if (trace && trace_attach(trace))
		sink_mode = SINK_TRACES;
	else if (sync && aggregate_attach(sync))
		sink_mode = SINK_AGGREGATES;
	else if (live) {
		sink_mode = SINK_LIVE; /* before the first of its threads is told */
		if (!live_attach(live))
			sink_mode = SINK_OFF;
	}
	errno = kept;
}
