/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forecasting methods, one file each; forecast_methods[] lists them. */
#ifndef SCALING_METHODS_H
#define SCALING_METHODS_H

#include "scaling/forecast.h"

extern const struct forecast_method forecast_auto;
extern const struct forecast_method forecast_presca;
extern const struct forecast_method forecast_estima;
extern const struct forecast_method forecast_usl;
extern const struct forecast_method forecast_amdahl;
extern const struct forecast_method forecast_pmnf;

#endif
