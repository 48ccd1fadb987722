/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machine code of x86-64 as the profile describes instructions. */
#ifndef PLUGIN_DECODE_H
#define PLUGIN_DECODE_H

#include "profile_raw.h"

#include <stdbool.h>
#include <stddef.h>

/* Fills *ret_code with the instruction that bytes[0..size) at `address` begin with; false, and CODE_OTHER of all the
 * bytes, if it is unknown. */
bool decode(uint64_t address, const void *bytes, size_t size, struct raw_code *ret_code);

#endif
