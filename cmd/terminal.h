/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of the terminal that a stream writes to, so that no other code has to ask. */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include "report/text.h"

#include <stdio.h>

/* Width (80 unless a terminal says less), UTF-8 by the locale, colour unless NO_COLOR is set. */
struct text_style terminal_style(FILE *stream);

#endif
