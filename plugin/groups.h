/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses of a block whose addresses differ by constants: the emulator is asked for one of them, the leader, and the others'
 * addresses follow from its.
 */
#ifndef PLUGIN_GROUPS_H
#define PLUGIN_GROUPS_H

#include "blocks.h"
#include "decode.h"

/* Of all places of the block; `addresses`: of each instruction. */
void groups_find(struct block *block, const struct decoded_address *const *addresses);

#endif
