/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/succession.h"

#include <math.h>

/* Between them a decay can be told. */
static const double BY_CHANCE = 0.1, ALL_ALIKE = 0.99;

void succession_add(struct succession *succession, double seen)
{
	if (succession->last > 0) {
		succession->pairs++;
		succession->sum += seen;
		succession->squares += seen * seen;
		succession->products += seen * succession->last;
	}
	succession->last = seen;
}

double succession_resemblance(const struct succession *succession)
{
	if (succession->pairs < 2)
		return 0;
	double mean = succession->sum / succession->pairs;
	double variance = succession->squares / succession->pairs - mean * mean;
	double common = succession->products / succession->pairs - mean * mean;
	return variance > 0 ? common / variance : 0;
}

double succession_spell_ns(double resemblance, double interval_ns, double busy)
{
	if (resemblance < BY_CHANCE || busy <= 0 || busy >= 1)
		return 0;
	return -interval_ns / log(fmin(resemblance, ALL_ALIKE)) / (1 - busy);
}
