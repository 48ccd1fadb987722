/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machine code of x86-64 as the profile describes instructions. */
#ifndef PLUGIN_DECODE_H
#define PLUGIN_DECODE_H

#include "profile_raw.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	DECODED_REGISTERS = 16,
	DECODED_NONE = 16
}; /* general registers, as bits of masks; none of them */

/* What an instruction's address is made of, and what is known of the registers after it: enough to tell other addresses from. */
struct decoded_address {
	bool is_known; /* it has one memory operand, of which all of this is true */
	uint8_t base, index, scale, segment; /* registers; segment: 0: the usual one */
	uint8_t moved; /* register to which a constant is added, else not written */
	int64_t displacement, move;
};

/* Fills *ret_code, and *ret_address unless it is NULL, with the instruction that bytes[0..size) at `address` begin with; false, and
 * CODE_OTHER of all the bytes, if it is unknown. */
bool decode(uint64_t address, const void *bytes, size_t size, struct raw_code *ret_code,
	struct decoded_address *ret_address);

#endif
