/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts run through the table of an automaton: a load that the next load's address waits for, and rare matches. */
#include "examples/kernels/common/kernel.h"

enum { STATES = 600, BYTES = 30000000, PIECE = 4096 };

struct shared {
	uint16_t (*table)[64];
	unsigned char *text;
	size_t pieces;
	uint64_t *matches;
};

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->pieces, thread);
	for (size_t piece = part.begin; piece < part.end; piece++) {
		const unsigned char *text = s->text + piece * PIECE;
		unsigned state = 0;
		for (size_t i = 0; i < PIECE; i++) {
			state = s->table[state][text[i] & 63];
			if (state % 97 == 96)
				s->matches[piece]++;
		}
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Runs an automaton over texts (threads).");
	struct shared s = { kernel_array(STATES, 128), NULL,
		kernel_scaled(&kernel, BYTES) / PIECE + 2, NULL };
	s.text = kernel_array(s.pieces, PIECE);
	s.matches = kernel_array(s.pieces, 8);
	for (size_t i = 0; i < STATES * 64; i++)
		s.table[i / 64][i % 64] =
			(uint16_t)(kernel_mix(4, i) % 3 ? kernel_mix(5, i) % 40
							: kernel_mix(6, i) % STATES);
	for (size_t i = 0; i < s.pieces * PIECE; i += 8) {
		uint64_t random = kernel_mix(7, i);
		for (size_t k = 0; k < 8; k++)
			s.text[i + k] = (unsigned char)(random >> (8 * k));
	}
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.matches, s.pieces * 8));
}
