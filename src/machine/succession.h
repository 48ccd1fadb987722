/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long others are at work each time, told by looks at equal intervals, each of which sees how much they leave. Where the
 * times that they are there and not there are exponential, what two looks have in common decays with what lies between them by
 * 1 / spell + 1 / pause, whatever each look sees.
 */
#ifndef MACHINE_SUCCESSION_H
#define MACHINE_SUCCESSION_H

/* Sums over looks, each with the one before it; { 0 } is empty. */
struct succession {
	double pairs, sum, squares, products, last;
};

/* `seen`: above 0. */
void succession_add(struct succession *succession, double seen);

/* Correlation of looks and those before them: 1 all alike, 0 no more than by chance, or too few looks. */
double succession_resemblance(const struct succession *succession);

/* The mean time that they are there, of a share `busy` of all; 0: not to be told from chance. */
double succession_spell_ns(double resemblance, double interval_ns, double busy);

#endif
