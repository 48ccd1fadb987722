/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/recorder.h"

#include "base/mem.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Those before AUTO_END in the order in which "auto" asks them. */
enum { AUTO_END = 2 };
static const struct recorder *const recorders[] = { &recorder_preload, &recorder_bpf,
	&recorder_both };

static int find_named(const char *name, const struct record_opts *opts, const struct recorder **ret,
	struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(recorders); i++) {
		if (strcmp(recorders[i]->name, name) != 0)
			continue;
		int code = recorders[i]->check(opts, err);
		if (code == 0)
			*ret = recorders[i];
		else if (recorders[i] == &recorder_preload && code != -ENOENT)
			return err_prefix(
				err, code, "--via preload cannot record it; --via bpf may");
		return code;
	}
	return err_set(err, -EINVAL, "no recorder '%s'", name);
}

int recorder_find(const char *name, const struct record_opts *opts, const struct recorder **ret,
	struct err *err)
{
	if (strcmp(name, "auto") != 0)
		return find_named(name, opts, ret, err);
	int first_code = 0;
	for (size_t i = 0; i < AUTO_END; i++) {
		int code = recorders[i]->check(opts, first_code == 0 ? err : NULL);
		if (code == 0) {
			*ret = recorders[i];
			return 0;
		}
		if (code == -ENOENT)
			return code; /* nobody can run that */
		if (first_code == 0)
			first_code = code;
	}
	return first_code;
}
