/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/event_code.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#if HAVE_PFM
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

/* True unless the name starts with "PMU::" and this libpfm4 has no table of that PMU. */
static bool knows_pmu(const char *name)
{
	const char *colons = strstr(name, "::");
	if (!colons)
		return true;
	size_t length = (size_t)(colons - name);
	pfm_pmu_t pmu;
	pfm_for_all_pmus(pmu)
	{
		pfm_pmu_info_t info = { .size = sizeof info };
		if (pfm_get_pmu_info(pmu, &info) == PFM_SUCCESS && strlen(info.name) == length &&
			strncmp(info.name, name, length) == 0)
			return true;
	}
	return false;
}

int event_code_by_name(const char *name, struct perf_event_attr *ret)
{
	/* Counted in libpfm4: calls after the first do nothing. */
	if (pfm_initialize() != PFM_SUCCESS || !knows_pmu(name))
		return -EOPNOTSUPP;
	struct perf_event_attr attr = { .size = sizeof attr };
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof arg };
	int r = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	if (r != PFM_SUCCESS)
		return -ENOENT;
	ret->type = attr.type;
	ret->config = attr.config;
	ret->config1 = attr.config1;
	ret->config2 = attr.config2;
	return 0;
}
#else
int event_code_by_name(const char *name, struct perf_event_attr *ret)
{
	(void)name;
	(void)ret;
	return -EOPNOTSUPP;
}
#endif

int event_code(const struct event_spec *event, struct perf_event_attr *ret)
{
	bool is_raw = event->type == EVENT_RAW;
	if (is_raw && event->event && event_code_by_name(event->event, ret) == 0)
		return 0;
	if (is_raw && event->config == 0)
		return -EOPNOTSUPP;
	ret->type = is_raw ? PERF_TYPE_RAW : PERF_TYPE_SOFTWARE;
	ret->config = event->config;
	return 0;
}
