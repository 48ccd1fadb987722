/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a clever method has to beat, as forecasting methods. No intervals: low = high = value. */
#ifndef BENCH_BASELINES_H
#define BENCH_BASELINES_H

#include "scaling/forecast.h"

/* A straight line in log-log through the last two points. */
extern const struct forecast_method baseline_line;

/* Median slope over the last factor of 1.5, at most linear, damped at rate 0.6. */
extern const struct forecast_method baseline_damped;

#endif
