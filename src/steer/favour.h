/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How one thread of a running program is made faster than the others, one thread at a time. A method is a
 * const struct that builds the alteration to make; that it is taken back is undo.h's affair.
 *
 *	nice		its weight, where more threads want to run than there are cores
 *	frequency	the least clock of the core that it is on (cpufreq)
 *	clamp		the least utilisation that the scheduler assumes of it (uclamp): a faster clock, a larger core
 */
#ifndef STEER_FAVOUR_H
#define STEER_FAVOUR_H

#include "steer/undo.h"

#include <stdbool.h>

enum { FAVOUR_REASON_BYTES = 128 };

struct favour_opts {
	const char *
		root; /* "" for the machine itself; tests give a folder with files of /proc and /sys */
	int nice_steps; /* of nice: how far below the thread's own value; 1 to 39 */
	int nice_lowest; /* of nice: not below this, favour_nice_lowest(); 0: -20 */
};

struct favour_method {
	const char *name;
	/* 0; or -EOPNOTSUPP, -EPERM and why this user cannot use it here, in a few words. */
	int (*check)(const char *root, char reason[FAVOUR_REASON_BYTES]);
	/* What would make this thread fast. As alteration_of_nice(). */
	int (*alteration)(
		const struct favour_opts *opts, pid_t pid, pid_t tid, struct alteration *ret);
	bool is_weight; /* against others that wait for a core: costs nobody anything while the thread waits or is alone */
	bool follows; /* the thread from core to core: ask again from time to time */
};

/* Ends with a NULL. */
extern const struct favour_method *const favour_methods[];
const struct favour_method *favour_method_by_name(const char *name);

/* The lowest nice value that this user may give: -20 with privilege, else what RLIMIT_NICE says; 20: none. */
int favour_nice_lowest(const char *root);

struct favour {
	const struct favour_method *method;
	struct favour_opts opts;
	struct undo *undo; /* borrowed */
	struct alteration last; /* of follows */
	pid_t tid; /* who is favoured; 0: nobody */
	int change; /* its number there */
	bool has_change; /* else it was that fast already */
};

/*
 * From now on this thread and no other; tid 0: nobody. A thread that is gone, or cannot be made faster, is no
 * error: favour->tid is 0 then. 0, or a negative errno: nobody is favoured.
 */
int favour_set(struct favour *favour, pid_t pid, pid_t tid, struct err *err);

#endif
