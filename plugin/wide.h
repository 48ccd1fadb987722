/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU 7.2 moves vectors of 256 bits with the processor's own registers of that width, and does not clear their upper
 * halves after. As long as they are not clear, its functions for floating point, which are made of instructions that
 * leave upper halves as they are, wait for one another: 3 times as long on whole programs, 9 times where vectors are
 * moved between them. So they are cleared before.
 */
#ifndef PLUGIN_WIDE_H
#define PLUGIN_WIDE_H

#include "blocks.h"

/* Upper halves are clear when the block calls such a function, and at its last instruction. While it is translated. */
void wide_translate(struct qemu_plugin_tb *tb, const struct block *block);

#endif
