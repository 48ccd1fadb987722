/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the prediction: a loaded profile, and one run of it. */
#ifndef UARCH_PREDICT_PARTS_H
#define UARCH_PREDICT_PARTS_H

#include "base/map.h"
#include "uarch/predict.h"
#include "uarch/statstack.h"

/* A class before any processor is known. */
struct predict_class {
	size_t like; /* class whose micro-traces stand for it; SIZE_MAX: none, the mean of all */
	size_t slot, slot_count; /* its instructions that access memory */
};

struct rppm {
	const struct profile *profile;
	struct replay *replay;
	struct statstack *statstack;
	struct statstack_answer answer;
	size_t micro_instructions;
	struct core_program *program; /* of `seed` */
	uint64_t seed;
	struct predict_class *classes;
	ptrdiff_t *slots; /* of all classes: index of statstack_find(), negative: none */
	struct core_odds *odds; /* by slot, of the processor at hand */
	double written_back; /* of the lines that are written, on it: the others are in the last cache at the end */
	uint32_t modules; /* the program's and its libraries' files */
	/* While the timeline is loaded. */
	struct event_sink sink; /* the replay's */
	struct map threads; /* pid, tid -> profile's thread, the last that was seen to start */
	uint16_t *stretches; /* by profile's thread: what it is in */
};

/* Of a stretch of the replay, which is 0 where there is no class. */
enum { PREDICT_CLASSES_MAX = UINT16_MAX };

/* predict_class.c: how long instructions take without contention for memory, and with. */
struct class_curve {
	double cpi[2]; /* at memory's latency, and at PREDICT_LOADED times of it */
	double queue_cycles; /* that is taken, on top of the former */
	double cpi_now; /* with that, by the line between the two */
	double alone[2]; /* cpi[] without neighbours: predict_sibling.c */
};
enum { PREDICT_LOADED = 4 };

/* On the line between the two: `part` 0 is the first, 1 the second. */
static inline double predict_line_at(const double of[2], double part)
{
	return of[0] + (of[1] - of[0]) * part;
}

int predict_classes_prepare(struct rppm *rppm, uint64_t seed, struct err *err);
int predict_classes(struct rppm *rppm, const struct processor *processor,
	struct class_curve *curves, struct prediction *prediction, struct err *err);
/* predict_sibling.c: the same on cores whose other hardware threads others use for a part of the time. */
int predict_classes_beside(struct rppm *rppm, const struct processor *processor,
	struct class_curve *curves, struct prediction *prediction, struct err *err);
/* Adds to what a class took alone at a latency of memory longer by its queue_cycles. */
void predict_add_sibling(const struct processor *processor, const struct class_curve *curve,
	struct predicted_class *class);

/* Whether they come and go while the program runs, so that its threads have them at other times. */
bool predict_has_spells(const struct processor *processor);
/* Cycles per instruction of a class while its core has one. */
double predict_halved(const struct processor *processor, const struct predicted_class *class);

/* Again for classes whose queue_cycles have changed. */
int predict_classes_queued(struct rppm *rppm, const struct processor *processor,
	struct class_curve *curves, struct prediction *prediction, struct err *err);

/* predict_play.c: the replay with the classes' times. `overlaps`, by class, for predict_memory.c: may be NULL. */
enum { OVERLAP_LEVELS = 12 };
struct overlap {
	struct overlap_level { /* by what others demanded meanwhile: overlap_level() */
		double own_ns; /* that threads spent in the class */
		double others
			[2]; /* lines that others moved, if at either of the curve's latencies */
	} levels[OVERLAP_LEVELS];
};

/* Which level: `load` is the others' demand without queueing, of memory's bandwidth. */
unsigned overlap_level(double load);
double predict_line_ns(const struct processor *processor); /* that memory takes for a line */

int predict_play(struct rppm *rppm, const struct predict_run *run, const struct class_curve *curves,
	struct prediction *prediction, struct overlap *overlaps, struct err *err);

/* predict_memory.c: bandwidth. Sets the curves' queue_cycles; true if any counts. */
bool predict_needs_memory(const struct processor *processor, uint32_t cores,
	const struct class_curve *curves, const struct prediction *prediction);
bool predict_memory(const struct processor *processor, const struct overlap *overlaps,
	const struct prediction *prediction, struct class_curve *curves);

#endif
