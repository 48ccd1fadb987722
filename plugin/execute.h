/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is counted, recorded and sampled of each block of instructions that is executed, and of its accesses to memory. */
#ifndef PLUGIN_EXECUTE_H
#define PLUGIN_EXECUTE_H

#include "blocks.h"

/* Has the emulator call us for each execution of a block. While it is translated. */
void execute_translate(struct qemu_plugin_tb *tb, struct block *block);

#endif
