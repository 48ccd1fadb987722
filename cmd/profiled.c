/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiled.h"

#include "uarch/profile_import.h"

#include <errno.h>

int profile_run(const struct profiler_opts *opts, struct profiler_result *ran, struct profile *ret,
	struct err *err)
{
	int code = profiler_run(opts, ran, err);
	if (code < 0)
		return code;
	const struct profile_bytes raw = { ran->raw, ran->raw_bytes };
	const struct profile_bytes timeline = { ran->timeline, ran->timeline_bytes };
	code = profile_import(&raw, &timeline, ret, err);
	if (code < 0)
		return ran->stop_signal ? -ECANCELED : code;
	ret->quality.profiled_s = ran->profiled_s;
	ret->quality.native_s = ran->native_s;
	ret->quality.lost += ran->threads_without_slot;
	return 0;
}
