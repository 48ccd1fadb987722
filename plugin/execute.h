/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is counted, recorded and sampled of each block of instructions that is executed, and of its accesses to memory. */
#ifndef PLUGIN_EXECUTE_H
#define PLUGIN_EXECUTE_H

#include "blocks.h"

/* Has the emulator call us for each execution of a block. While it is translated. */
void execute_translate(struct qemu_plugin_tb *tb, struct block *block);

/*
 * Of code in which nothing is counted. QEMU 7.2 calls for the access of a jump that ended its block once more when a function of the
 * emulator next makes one, wherever that is: a block would count twice.
 */
void execute_translate_unseen(struct qemu_plugin_tb *tb);

#endif
