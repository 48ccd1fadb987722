/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adaptive binary range coding and decoding, as of compressors: a chain through a multiplication and a branch nobody foretells. */
#include "examples/kernels/common/kernel.h"

#include <stdbool.h>

enum { BLOCKS = 200, SYMBOLS = 10000, CONTEXTS = 1024 };

struct shared {
	size_t blocks;
	uint64_t *sums;
};

struct coder {
	uint32_t low, range, code;
	uint8_t *at;
	uint16_t odds[CONTEXTS];
};

static void start(struct coder *c, uint8_t *bytes)
{
	*c = (struct coder){ .range = 0xffffffff, .at = bytes };
	for (int i = 0; i < CONTEXTS; i++)
		c->odds[i] = 1024;
}

/* One part of the range is left: its lower one for a set bit, whose odds then are better. */
static void narrow(struct coder *c, unsigned context, uint32_t bound, unsigned bit)
{
	if (bit) {
		c->range = bound;
		c->odds[context] += (2048 - c->odds[context]) >> 5;
	} else {
		c->low += bound;
		c->range -= bound;
		c->odds[context] -= c->odds[context] >> 5;
	}
}

/* The range's first byte is known, or made so: where both ends differ in it and lie close together. */
static bool has_byte(struct coder *c)
{
	bool is_small = c->range < 1u << 24;
	bool is_same = (c->low ^ (c->low + c->range)) < 1u << 24;
	if (is_small && !is_same)
		c->range = -c->low & ((1u << 24) - 1);
	return is_small || is_same;
}

static void encode(struct coder *c, unsigned context, unsigned bit)
{
	narrow(c, context, (c->range >> 11) * c->odds[context], bit);
	for (; has_byte(c); c->low <<= 8, c->range <<= 8)
		*c->at++ = (uint8_t)(c->low >> 24);
}

static unsigned decode(struct coder *c, unsigned context)
{
	uint32_t bound = (c->range >> 11) * c->odds[context];
	unsigned bit = c->code - c->low < bound;
	narrow(c, context, bound, bit);
	for (; has_byte(c); c->low <<= 8, c->range <<= 8)
		c->code = c->code << 8 | *c->at++;
	return bit;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->blocks, thread);
	static _Thread_local uint8_t bytes[8 * SYMBOLS + 64];
	static _Thread_local struct coder c;
	for (size_t block = part.begin; block < part.end; block++) {
		start(&c, bytes);
		unsigned context = 1;
		for (unsigned i = 0; i < 8 * SYMBOLS; i++) {
			uint64_t random = kernel_mix(block, i) >> 40;
			unsigned bit = random % 16 > context % 13;
			encode(&c, context, bit);
			context = (context * 2 + bit) % CONTEXTS;
		}
		for (int i = 0; i < 4; i++, c.low <<= 8)
			*c.at++ = (uint8_t)(c.low >> 24);
		start(&c, bytes);
		for (int i = 0; i < 4; i++)
			c.code = c.code << 8 | *c.at++;
		uint64_t ones = 0;
		context = 1;
		for (unsigned i = 0; i < 8 * SYMBOLS; i++) {
			unsigned bit = decode(&c, context);
			ones = ones * 3 + bit;
			context = (context * 2 + bit) % CONTEXTS;
		}
		s->sums[block] = ones;
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Codes and decodes bits (threads).");
	struct shared s = { .blocks = kernel_scaled(&kernel, BLOCKS) };
	s.sums = kernel_array(s.blocks, 8);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.sums, s.blocks * 8));
}
