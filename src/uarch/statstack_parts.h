/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A prepared profile, shared by what prepares it (statstack.c) and what answers (statstack_ask.c). */
#ifndef UARCH_STATSTACK_PARTS_H
#define UARCH_STATSTACK_PARTS_H

#include "uarch/statstack.h"

/* S(r): the expected number of other lines in between, at the least distance of each bin. */
struct lines_curve {
	double at[REUSE_BINS];
	double population; /* lines that there are to meet, at distances that occur */
};

/* What fills the lines of a cache: data or fetches before the first level, both behind it. */
enum curve_kind {
	CURVE_DATA, /* of the thread's own accesses, in a cache of data */
	CURVE_DATA_PRIVATE, /* the same, in a cache that holds instructions too */
	CURVE_DATA_GLOBAL, /* of all threads' accesses */
	CURVE_FETCH,
	CURVE_FETCH_PRIVATE,
	CURVE_FETCH_GLOBAL,
	CURVE_PAGES, /* of the thread's own accesses */
	CURVE_KINDS,
};

struct class_reuse {
	struct lines_curve curves[CURVE_KINDS];
	double share[PROFILE_SCOPES][REUSE_BINS]; /* of accesses; sums to 1, or all 0 */
	double written; /* of the infinite distances that are not the program's first touch: by a write */
	size_t first_code, code_count; /* in statstack.codes */
};

/* The rows of one instruction in one class. */
struct code_reuse {
	uint32_t class, code;
	size_t first_row;
	uint32_t private_rows, global_rows, page_rows; /* in this order */
	double infinite_private, infinite_global; /* share of accesses */
	double accesses;
	uint32_t walk; /* index in statstack.walks, plus one; 0: its lines fall into any sets */
	bool is_load;
};

/* Steps that are multiples of 2^k lines, k below this: see statstack_walks.c. Larger ones count as the largest. */
enum { WALK_KINDS = 17, WALK_NEAR = 64 };

/* Accesses that come back within WALK_NEAR lines of the instruction's own, and others. */
enum walk_range { WALK_CLOSE, WALK_FAR, WALK_RANGES };

struct walk {
	double share
		[WALK_RANGES]
		[WALK_KINDS]; /* of the instruction's accesses of a range, by k; each sums to 1 */
	double together
		[WALK_KINDS]; /* lines that it meets until a smaller step leaves their sets */
	double lines[REUSE_BINS]; /* S(r) of its own accesses alone, in those of the thread */
};

struct reuse_row {
	uint32_t bin;
	float share; /* of the accesses of its instruction and scope */
};

struct statstack {
	double threads; /* that run at a time, by their shares of the accesses */
	bool has_pages;
	double common; /* 0: each thread has lines of its own; 1: all have the same */
	struct class_reuse *classes;
	size_t class_count;
	struct code_reuse *codes; /* by class, then code */
	size_t code_count;
	struct reuse_row *rows;
	size_t row_count;
	struct walk *walks;
	size_t walk_count;
};

/* As reuse_bin_least, with an end for the last finite bin. */
double reuse_edge(unsigned bin);

/* Of data, or of lines of instructions. */
double class_accesses(const struct profile_class *class, enum profile_scope scope);
/* The same of one stretch of the class. */
double stretch_accesses(const struct profile_class *class, enum profile_scope scope);

/* The sum over the distances i of each finite bin of P(d > i), distances being even within a bin. */
void reuse_tails(const double *share, double *ret);

/* Finds the instructions that walk: 0 or -ENOMEM. `thread_accesses`: of each thread's classes. */
int statstack_walks(
	struct statstack *statstack, const struct profile *profile, const double *thread_accesses);

/* Fills the curves of all classes from their shares: 0 or -ENOMEM. `samples`: PROFILE_SCOPES for each class. */
int statstack_curves(
	struct statstack *statstack, const struct profile *profile, const double *samples);

#endif
