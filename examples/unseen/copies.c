/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of all sizes copied into and out of buffers, cleared, compared and searched, as servers do. */
#include "examples/kernels/common/kernel.h"

#include <string.h>

enum { MESSAGES = 1500000, BUFFER = 1 << 18 };

struct shared {
	size_t messages;
	uint64_t *sums;
	char *buffers;
};

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->messages, thread);
	char *buffer = s->buffers + (size_t)thread * BUFFER, message[2048];
	uint64_t sum = 0;
	memset(buffer, 'x', BUFFER);
	for (size_t i = part.begin; i < part.end; i++) {
		uint64_t random = kernel_mix(9, i) >> 8;
		size_t bytes = 8 + random % (random % 8 == 0 ? 2000 : 120);
		size_t at = (random >> 20) % (BUFFER - 4096);
		memcpy(message, buffer + at, bytes);
		message[bytes / 2] = (char)('a' + random % 26);
		memmove(buffer + at + 16, message, bytes);
		if (random % 5 == 0)
			memset(buffer + at, 'x', bytes);
		const char *found = memchr(buffer + at, 'a', bytes);
		sum += found ? (uint64_t)(found - buffer) % 16 : 1;
		sum += memcmp(buffer + at, message, bytes) == 0;
	}
	__atomic_fetch_add(&s->sums[0], sum & 0, __ATOMIC_RELAXED);
	s->sums[thread + 1] = sum;
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Copies messages (threads).");
	struct shared s = { kernel_scaled(&kernel, MESSAGES), kernel_array(300, 8),
		kernel_array((size_t)kernel.threads, BUFFER) };
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, s.messages);
}
