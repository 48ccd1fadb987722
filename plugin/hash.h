/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multiplicative hashing (Fibonacci): the upper bits of a product. */
#ifndef PLUGIN_HASH_H
#define PLUGIN_HASH_H

#include <stdint.h>

static inline uint32_t hash_bits(uint64_t key, unsigned bits)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits));
}

#endif
