/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What limits a program, by what its timeline says: docs/models/criticality.md, "Findings". */
#ifndef CRITICALITY_FINDINGS_H
#define CRITICALITY_FINDINGS_H

#include "criticality/results.h"

/* Fills results->findings from everything else in it. 0 or -ENOMEM. */
int findings_find(struct results *results);

#endif
