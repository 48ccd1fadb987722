/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cores whose other hardware thread is at work for somebody else, for a share h of the time: of it a class goes at the pace
 * that half a core gives, of the rest at that of a whole one. Turns are long beside a class's stretches, so that paces, not
 * times, have a mean: 1 / CPI = (1 - h) / CPI_whole + h / CPI_half. Beside the program they may be long, too: then the replay
 * has them come and go (predict_play.c), and threads that meet wait for the one whose core has a neighbour.
 */
#include "uarch/predict_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Times as long as on a whole core; on half of one nothing is faster. */
static double slowdown(double whole, double half, double busy)
{
	return whole > 0 ? 1 / (1 - busy + busy * whole / fmax(whole, half)) : 1;
}

static void add(struct predicted_class *class, double factor)
{
	class->stack[CORE_SIBLING] = class->cpi * (factor - 1);
	class->cpi *= factor;
}

void predict_add_sibling(const struct processor *processor, const struct class_curve *curve,
	struct predicted_class *class)
{
	double step = (PREDICT_LOADED - 1) * processor->memory_ns * processor->frequency_hz / 1e9;
	double part = curve->queue_cycles / step;
	double alone = predict_line_at(curve->alone, part);
	if (processor->sibling_busy > 0 && alone > 0)
		add(class, predict_line_at(curve->cpi, part) / alone);
}

bool predict_has_spells(const struct processor *processor)
{
	return processor->sibling_spell_ns > 0 && processor->sibling_busy > 0;
}

double predict_halved(const struct processor *processor, const struct predicted_class *class)
{
	double busy = processor->sibling_busy, alone = class->cpi - class->stack[CORE_SIBLING];
	double paces = class->cpi > 0 ? (alone / class->cpi - (1 - busy)) / busy : 1;
	return paces > 0 ? alone / paces : class->cpi;
}

int predict_classes_beside(struct rppm *rppm, const struct processor *processor,
	struct class_curve *curves, struct prediction *prediction, struct err *err)
{
	double busy = processor->sibling_busy;
	if (busy == 0)
		return predict_classes(rppm, processor, curves, prediction, err);
	struct processor half;
	processor_halve(processor, &half);
	AUTO_RELEASE(prediction)
	struct prediction halved = { .class_count = prediction->class_count };
	halved.classes = calloc(prediction->class_count + 1, sizeof *halved.classes);
	AUTO_FREE struct class_curve *slow = calloc(prediction->class_count + 1, sizeof *slow);
	if (!halved.classes || !slow)
		return err_set(err, -ENOMEM, "out of memory");
	int code = predict_classes(rppm, &half, slow, &halved, err);
	if (code == 0) /* last: its answers stay */
		code = predict_classes(rppm, processor, curves, prediction, err);
	for (size_t i = 0; code == 0 && i <= prediction->class_count; i++) {
		struct predicted_class *class = &prediction->classes[i];
		struct class_curve *curve = &curves[i];
		for (unsigned k = 0; k < 2; k++) {
			curve->alone[k] = curve->cpi[k];
			curve->cpi[k] *= slowdown(curve->cpi[k], slow[i].cpi[k], busy);
		}
		curve->cpi_now = curve->cpi[0];
		add(class, slowdown(class->cpi, halved.classes[i].cpi, busy));
	}
	return code;
}
