/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Software stalls: how long the threads of an unmodified program wait for one another, by kind of
 * wait and by call site. A preloaded library (preload/) writes them into a file of the run.
 *
 *	AUTO_RELEASE(sync_env) struct sync_env env = { 0 };
 *	r = sync_stalls_prepare(program, file, &env, err);	creates the file
 *	... run the program with env.assignments added to its environment ...
 *	r = sync_stalls_read(file, &stalls, err);		also after a crash or a kill
 *
 * Processes that the program starts are included. docs/models/sync-stalls.md says what counts.
 */
#ifndef COLLECT_SYNC_STALLS_H
#define COLLECT_SYNC_STALLS_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
	SYNC_STALLS_CATEGORIES = 8,
	SYNC_STALLS_FRAMES = 5,
};

struct sync_category {
	const char *name; /* "lock", "rwlock", "spin", "barrier", "cond", "sem", "join", "omp" */
	double total_s; /* summed over threads */
	uint64_t waits;
};

/* A return address: where a wait was called from. */
struct sync_address {
	const char *module; /* path of its ELF file; NULL: in none, offset is the address itself */
	uint64_t offset; /* the address in that file */
};

struct sync_site_stalls {
	size_t category; /* index */
	double wait_s;
	uint64_t waits;
	size_t frame_count; /* the caller of the waiting function first, then its caller, ... */
	struct sync_address frames[SYNC_STALLS_FRAMES];
};

struct sync_stalls {
	struct sync_category categories[SYNC_STALLS_CATEGORIES]; /* all, also those without waits */
	struct sync_site_stalls *sites; /* longest wait first */
	size_t site_count;
	uint64_t processes; /* that had the library loaded; 0: nothing was measured */
	uint64_t elsewhere_waits; /* counted by category only: too many call sites */
	uint64_t unfinished_waits; /* of threads killed while they waited: not in the totals */
	char **modules; /* behind the sites */
	size_t module_count;
};

/* Assignments that sync_env_make() adds. */
enum { SYNC_ENV_ASSIGNMENTS = 3 };

/* What to add to the program's environment: "NAME=value". */
struct sync_env {
	char *assignments[SYNC_ENV_ASSIGNMENTS];
};

void sync_env_release(struct sync_env *env);

/* The preload library: with all that recorders need, or with what `corecast tune` needs, which costs a program's other calls nothing. */
#define PRELOAD_RECORDS "preload/libcorecast-sync.so"
#define PRELOAD_TUNES "preload/libcorecast-tune.so"

/*
 * The library, one of those, added to a LD_PRELOAD that is set now, and the file at `path` under the variable by
 * which the library knows what to do with it. 0, -ENOENT (the library is not installed), -EINVAL
 * (a path that LD_PRELOAD cannot carry), -errno of the file, -ENOMEM.
 */
int sync_env_make(const char *which, const char *variable, const char *path, struct sync_env *ret,
	struct err *err);

/*
 * Creates or empties the file at `path` and fills *ret, which keeps a LD_PRELOAD that is set now.
 * 0; or an error of preloadable_check(), -ENOENT (the library is not installed), -EINVAL (a path
 * that LD_PRELOAD cannot carry), -errno of creating the file. Without PROGRAM (NULL) nothing is
 * checked about it.
 */
int sync_stalls_prepare(
	const char *program, const char *path, struct sync_env *ret, struct err *err);

/*
 * 0; -errno of reading, -EINVAL (not such a file). The caller frees *ret. All zero, and
 * processes 0, when the program never loaded the library.
 */
int sync_stalls_read(const char *path, struct sync_stalls **ret, struct err *err);

void sync_stalls_free(struct sync_stalls *stalls);
CLEANUP_DEFINE(sync_stalls, sync_stalls_free)

#endif
