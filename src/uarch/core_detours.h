/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Detours: what a core does behind a branch that it foretold wrongly, until it knows. Where that path comes back to
 * the right one before long, loads of the right path whose addresses do not depend on what the detour left out or changed are
 * done early, and their lines are there, or on their way, when the core comes the right way (control independence: Rotenberg,
 * Jacobson and Smith, HPCA 1999; wrong-path loads as prefetches: Pierce and Mudge, MICRO 1996).
 *
 * The wrong path is the one on which the traces have the same branch going the other way, or the jump going elsewhere; it meets
 * the right one where both have the same instruction, the soonest. Before, both may do the same in other places: compilers
 * copy the end of a loop to each of the ways that lead there.
 */
#ifndef UARCH_CORE_DETOURS_H
#define UARCH_CORE_DETOURS_H

#include "uarch/core_parts.h"

#include <stdbool.h>

/* What followed a branch that went one of its ways. */
struct core_way {
	const struct micro_op *ops;
	uint32_t count;
};

/* The instructions of a path ahead, by code. */
struct core_ahead {
	uint32_t stamp; /* of the path */
	uint32_t at;
};

/* What is known of code when traces are decoded. { 0 } knows nothing. */
struct core_detour_map {
	const struct profile *profile;
	struct core_way (*ways)
		[2]; /* by code: of a branch not taken, taken; of a jump its last two targets */
	struct core_ahead *ahead; /* by code */
	uint32_t stamp;
	uint16_t uop_of[CORE_TRACE_INSTRUCTIONS + 1]; /* of the trace: an instruction's first */
};

/* Before the instructions of a trace are decoded. 0 or -ENOMEM. */
int core_detours_look(struct core_detour_map *map, const struct profile *profile,
	const struct micro_trace *micro, uint32_t count);

/*
 * Of the branch or jump at `index` of a trace; `writer` as the decoder's, before it. Of instructions: ->resume and ->after are indices of
 * them in the trace, a bit of ->shared is one of them. core_detours_settle() makes them micro-operations when uop_of is known.
 */
struct core_detour core_detours_find(struct core_detour_map *map, const struct micro_trace *micro,
	uint32_t count, uint32_t index, const uint16_t *writer);

void core_detours_settle(const struct core_detour_map *map, struct core_detour *detour);

/* For AUTO_RELEASE(core_detour_map). */
void core_detour_map_release(struct core_detour_map *map);

/* One that is being played; { 0 } is none. */
struct core_astray {
	bool is_on;
	uint32_t branch; /* micro-operation of the trace where it began */
	const struct core_detour *detour; /* the last that it took */
	int64_t lag; /* of a micro-operation's place on this path behind its place in the trace */
	int64_t room; /* places on it that the window has */
	int64_t from, until; /* cycles: its first is dispatched; the branch knows */
	uint16_t changed[2 * CORE_CHANGED]; /* as in core_detour */
	unsigned changed_count;
	int64_t issued; /* when it issued the micro-operation at hand; INT64_MAX: it did not */
	int64_t *
		early; /* by index into done[], behind the branch: when a result was there; INT64_MAX: never */
	size_t early_capacity;
};

/*
 * Those that have left something behind for what is played, the farthest. Cores do not come back from one before its branch is known: a
 * further one that is foretold wrongly on it leads farther. On the right path each such branch begins one of its own.
 */
enum { CORE_ASTRAYS = 2 };
struct core_astrays {
	struct core_astray list[CORE_ASTRAYS];
	uint32_t width; /* of dispatch */
};

/* Before results of traces with indices below `count` into done[]: room for those of each. 0 or -ENOMEM. */
int core_astrays_make_room(struct core_astrays *astrays, size_t count);
void core_astrays_release(struct core_astrays *astrays);

/* A trace begins, which none has seen anything of. */
void core_astrays_end(struct core_astrays *astrays);

/*
 * The branch at micro-operation `branch`, dispatched and done in these cycles, is foretold wrongly; behind it the window has room for so
 * many.
 */
void core_astrays_begin(struct core_astrays *astrays, const struct core_detour *detour,
	uint32_t branch, int64_t dispatched, int64_t done, uint32_t room);

/* When the first of them issued the micro-operation `index` of the trace; INT64_MAX: none did. */
int64_t core_astrays_issue(struct core_astrays *astrays, const struct core_uop *uop, uint32_t index,
	const uint16_t *operands, const int64_t *done);

#endif
