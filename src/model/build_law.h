/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The laws of branches that are no draws (build_graph.h says which). */
#ifndef MODEL_BUILD_LAW_H
#define MODEL_BUILD_LAW_H

#include "model/build_graph.h"

/* 0 or -ENOMEM. */
int build_laws_find(struct build_graph *graph);

#endif
