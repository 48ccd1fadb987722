/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A what-if question: loaded, its names looked up, checked, answered. */
#ifndef CMD_WHATIF_PARTS_H
#define CMD_WHATIF_PARTS_H

#include "analysed.h"
#include "command.h"

#include "meaning/meaning.h"
#include "replay/replay.h"
#include "trace/amended.h"
#include "report/whatif.h"

enum { WHATIF_REPLICATIONS_MAX = 1000 };

/* Beyond this error of the replay there is no answer: three times what a replay should reach (3%). */
#define WHATIF_LIMIT 0.10

struct whatif {
	struct analysed before; /* .path is the file */
	struct amended run; /* the same file */
	uint32_t recorded_cores; /* 0: as the file says */
	struct meaning *meaning;
	struct replay *replay;
	struct replay_facts facts;
	struct replay_change *changes;
	size_t change_count, change_capacity;
	char **words; /* of the changes, as they were given */
	size_t word_count;
	struct whatif_point *points;
	size_t point_count;
	struct whatif_answer answer;
	char *named; /* what whatif_name() said last */
};

/* What is to be changed, as it was given. */
struct whatif_asked {
	struct option_strings speed, without, pin;
};

struct whatif_opts {
	uint32_t *cores; /* a point for each; NULL, 0: one for the recorded number of cores */
	size_t core_count;
	uint32_t replications; /* of each point */
	uint32_t jobs; /* processes; 0: as many as there are cores */
};

/* Before anything is read: -EINVAL for what is not NAME=FACTOR or NAME=CORES. */
int whatif_check_asked(const struct whatif_asked *asked, struct err *err);
/* All: 0 or a negative errno with err. In this order. `recorded_cores` 0: as the file says. */
int whatif_load(struct whatif *whatif, FILE *notes, struct err *err);
/* Names as criticality prints them. -ENOENT: unknown or ambiguous, err lists what there is. */
int whatif_resolve(struct whatif *whatif, const struct whatif_asked *asked, struct err *err);
/* struct replay_opts's name(), of a struct whatif: as criticality prints it. */
const char *whatif_name(void *context, uint32_t pid, uint8_t what, uint64_t number);
/* Replays it as it was recorded. */
int whatif_check(struct whatif *whatif, struct err *err);
/* After whatif_check() or whatif_predict() came to a deadlock (-EDEADLK): loads it again without the
   meanings of the conditions that threads waited for, or, if there were none, has the locks taken in the recorded order.
   -EDEADLK, err untouched: they were already. */
int whatif_load_again(struct whatif *whatif, struct err *err);
int whatif_predict(struct whatif *whatif, const struct whatif_opts *opts, struct err *err);
int whatif_write(struct whatif *whatif, const char *path, struct err *err);
void whatif_release(struct whatif *whatif);

#endif
