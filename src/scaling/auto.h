/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The default method with its constants as data, for benchmarks that vary them. */
#ifndef SCALING_AUTO_H
#define SCALING_AUTO_H

#include "scaling/exponent.h"
#include "scaling/forecast.h"

struct auto_model {
	struct exponent_model exponent;
	/* Relative residual of the universal scalability law at which it and the process weigh the
	   same. */
	double law_residual;
	/* Calibration of the 90% interval: weight of the process's standard deviation as far as the
	   measurements reach, of what it adds past them, and a standard deviation per unit of
	   ln(n / last) for what no measurement shows. */
	double between, seen, unseen;
};

extern const struct auto_model auto_model_default;

/* As a method's predict(). */
int auto_predict(const struct auto_model *model, const struct curve *curve, struct forecast *ret,
	struct err *err);

#endif
