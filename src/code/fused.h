/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CODE_FUSED_H
#define CODE_FUSED_H

#include <stdbool.h>

/*
 * Whether the code of an ELF file for x86-64 has fused multiply-adds, for which it is decoded from the start of each
 * section of code on. False also when it cannot be read, or in builds without Zydis. Libraries are not looked at.
 */
bool program_has_fused(const char *path);

#endif
