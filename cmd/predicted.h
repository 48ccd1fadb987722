/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A profile that is ready to be predicted from: what `predict` and `explore` share. */
#ifndef CMD_PREDICTED_H
#define CMD_PREDICTED_H

#include "analysed.h"
#include "command.h"

#include "meaning/meaning.h"
#include "report/predict.h"
#include "uarch/predict.h"

enum {
	/* Predictions for each processor, with other draws of what misses. */
	PREDICTED_REPLICATIONS = 5,
	/* Six times what a design space takes for a point: one processor's answer should not hang on what is drawn. */
	PREDICTED_MICRO_INSTRUCTIONS = 400000,
};

struct predicted {
	const char *path; /* borrowed */
	struct profile profile;
	size_t micro_instructions;
	struct meaning *meaning;
	size_t forgotten; /* conditions whose meaning led to a deadlock: they keep the recorded order */
	struct rppm *rppm;
	struct replay_facts facts;
	struct symbols *symbols;
	struct code_finder finder; /* borrows symbols */
};

/* { .path = ... } before. 0; else a negative errno. micro_instructions: as predict_opts, 0: the default. */
int predicted_load(struct predicted *predicted, size_t micro_instructions, struct err *err);

/* The same of a profile that is there already. */
int predicted_prepare(struct predicted *predicted, size_t micro_instructions, struct err *err);
void predicted_release(struct predicted *predicted);

/* Leaves out the meanings with which a first prediction, for this processor, comes to a deadlock. */
int predicted_settle(
	struct predicted *predicted, const struct processor *processor, struct err *err);

/* After -EDEADLK: prepares it again without the meanings that led there. -EDEADLK if that is none. */
int predicted_again(struct predicted *predicted, struct err *err);

/*
 * One processor, which is point->processor; `cores` 0: its own. As many predictions as said, each with other draws of
 * what misses; the one in the middle is the answer.
 */
int predicted_point(struct predicted *predicted, uint32_t cores, uint32_t replications,
	struct predict_point *point, struct err *err);
void predicted_point_release(struct predict_point *point);

/* Loads the profile and predicts it for each of the machines. `points` has room for them, each { 0 }. */
int predicted_points(struct predicted *predicted, const struct option_strings *machines,
	uint32_t cores, uint32_t replications, struct predict_point *points, struct err *err);

/* What predicted_points() said, to be shown; borrows both. */
struct predict_answer predicted_answer(
	const struct predicted *predicted, const struct predict_point *points, size_t count);

#endif
