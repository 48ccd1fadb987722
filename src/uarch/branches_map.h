/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fitted maps of branches.h: by kind of predictor, size, feature. Printed by bench/calibrate_branches. */
#ifndef UARCH_BRANCHES_MAP_H
#define UARCH_BRANCHES_MAP_H

#include "uarch/branches.h"

extern const double branches_map[BRANCHES_KINDS][BRANCHES_SIZES][BRANCHES_FEATURES];

#endif
