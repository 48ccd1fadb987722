/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A profile that is ready to be predicted from: what `predict` and `explore` share. */
#ifndef CMD_PREDICTED_H
#define CMD_PREDICTED_H

#include "analysed.h"
#include "command.h"

#include "meaning/meaning.h"
#include "report/predict.h"
#include "uarch/predict.h"

/* Predictions for each processor. */
enum { PREDICTED_REPLICATIONS = 5 };

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
	struct predict_point *points; /* of predicted_points() */
	size_t point_count;
};

/* { .path = ... } before. 0; else a negative errno. micro_instructions: as predict_opts, 0: the default. */
int predicted_load(struct predicted *predicted, size_t micro_instructions, struct err *err);

/* The same of a profile that is there already. */
int predicted_prepare(struct predicted *predicted, size_t micro_instructions, struct err *err);
void predicted_release(struct predicted *predicted);

/* Leaves out the meanings with which a first prediction, for this processor, comes to a deadlock. */
int predicted_settle(
	struct predicted *predicted, const struct processor *processor, struct err *err);

/*
 * Loads the profile and predicts it for each of the machines; `cores` 0: their own. As many predictions of each as said, with
 * other draws of what misses; the one in the middle is the answer.
 */
int predicted_points(struct predicted *predicted, const struct option_strings *machines,
	uint32_t cores, uint32_t replications, struct err *err);

/* Writes the timeline of the last machine's answer, as timeline_save(); `cores` as for predicted_points(). */
int predicted_write(struct predicted *predicted, uint32_t cores, const char *path, struct err *err);

/* What predicted_points() said, to be shown; borrows it. */
struct predict_answer predicted_answer(const struct predicted *predicted);

#endif
