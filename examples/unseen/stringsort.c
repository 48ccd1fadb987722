/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pointers to strings sorted by the C library's qsort with a function that compares them, each thread its own part. */
#include "examples/kernels/common/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { STRINGS = 180000, BYTES = 24 };

struct shared {
	size_t count;
	char *text;
	const char **strings;
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->count, thread);
	qsort(s->strings + part.begin, part.end - part.begin, sizeof(*s->strings), compare);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Sorts strings (threads).");
	size_t count = kernel_scaled(&kernel, STRINGS);
	struct shared s = { count, kernel_array(count, BYTES),
		kernel_array(count, sizeof(char *)) };
	for (size_t i = 0; i < count; i++) {
		char *text = s.text + i * BYTES;
		size_t length = 6 + kernel_mix(11, i) % (BYTES - 7);
		for (size_t k = 0; k < length; k++) /* few beginnings, as words have */
			text[k] = (char)('a' + (kernel_mix(12 + k, i) >> 32) % (k < 3 ? 3 : 26));
		s.strings[i] = text;
	}
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	uint64_t ups = 0;
	for (size_t i = 0; i < count; i++)
		ups += (uint64_t)(unsigned char)s.strings[i][0];
	return kernel_finish(&kernel, ups);
}
