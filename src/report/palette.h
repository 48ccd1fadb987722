/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How figures look, everywhere: the conventions that every renderer shares.
 *
 * - A thing that is shown (a forecast, the forecast that it is compared with, a stall category, a
 *   thread) has a *slot*. The slot gives its colour, its dash, its marker and its fill, so that it is
 *   told from others by shape too: on paper, in grey, by someone who does not see the colour.
 * - Colours are Okabe and Ito's ("Color Universal Design", 2008), without black (the ink of axes
 *   and text) with yellow late (it is faint on white paper), and grey; then four of Tol's "muted"
 *   ("Colour Schemes", 2021) that are darker or duller than these.
 * - Measured is a mark, predicted is a line, uncertain is a band. Nothing measured is ever drawn as
 *   a line, nothing predicted as a mark.
 * - Linear axes start at 0. Time that varies by more than a factor of 5, or throughput by more than
 *   100, gets two logarithmic axes: perfect scaling is a straight line there (forecast_figure.c).
 *   Thread counts far beyond the measured ones get a logarithmic x axis.
 */
#ifndef REPORT_PALETTE_H
#define REPORT_PALETTE_H

#include <stdint.h>

enum { PALETTE_SLOTS = 12 };

enum marker { MARKER_CIRCLE, MARKER_TRIANGLE, MARKER_SQUARE, MARKER_DIAMOND };

struct palette_slot {
	const char *colour; /* #rrggbb */
	const char *dash; /* SVG's stroke-dasharray; "" is solid */
	enum marker marker;
	const char *sgr; /* the nearest of the eight terminal colours: the parameter of SGR */
	uint32_t glyph, glyph_ascii; /* a measured point in a terminal */
	uint32_t fill, fill_ascii; /* a band or a bar in a terminal */
	char line_ascii; /* a line in a terminal without UTF-8 */
};

/* Slots repeat after PALETTE_SLOTS. */
const struct palette_slot *palette_slot(unsigned slot);

/* The name of a marker in Vega ("circle", "triangle-up", ...). */
const char *palette_marker_name(enum marker marker);

#endif
