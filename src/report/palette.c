/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The slots. */
#include "report/palette.h"

static const struct palette_slot slots[PALETTE_SLOTS] = {
	{ "#0072B2", "", MARKER_CIRCLE, "34", 0x25CF, 'o', 0x2591, '.', '*' },
	{ "#D55E00", "7 3", MARKER_TRIANGLE, "31", 0x25B2, 'x', 0x2592, ':', '+' },
	{ "#009E73", "2 3", MARKER_SQUARE, "32", 0x25A0, '#', 0x2593, '%', '=' },
	{ "#CC79A7", "9 3 2 3", MARKER_DIAMOND, "35", 0x25C6, '@', 0x2588, '&', '~' },
	{ "#E69F00", "12 3", MARKER_CIRCLE, "33", 0x25CB, 'O', 0x2591, '.', '-' },
	{ "#56B4E9", "4 2 1 2", MARKER_TRIANGLE, "36", 0x25B3, 'v', 0x2592, ':', '^' },
	{ "#F0E442", "1 2", MARKER_SQUARE, "33", 0x25A1, 's', 0x2593, '%', '!' },
	{ "#7F7F7F", "6 2 1 2 1 2", MARKER_DIAMOND, "37", 0x25C7, 'd', 0x2588, '&', '"' },
	{ "#332288", "8 2", MARKER_CIRCLE, "34", 0x25BC, 'V', 0x2591, '.', '|' },
	{ "#882255", "3 1 1 1", MARKER_TRIANGLE, "31", 0x25BD, 'w', 0x2592, ':', '/' },
	{ "#44AA99", "5 5", MARKER_SQUARE, "36", 0x25A3, 'H', 0x2593, '%', '\\' },
	{ "#999933", "10 2 2 2", MARKER_DIAMOND, "33", 0x25C8, 'Q', 0x2588, '&', '_' },
};

const struct palette_slot *palette_slot(unsigned slot)
{
	return &slots[slot % PALETTE_SLOTS];
}

const char *palette_marker_name(enum marker marker)
{
	static const char *const names[] = {
		[MARKER_CIRCLE] = "circle",
		[MARKER_TRIANGLE] = "triangle-up",
		[MARKER_SQUARE] = "square",
		[MARKER_DIAMOND] = "diamond",
	};
	return names[marker];
}
