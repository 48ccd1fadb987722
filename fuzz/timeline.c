/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timelines in CSV: what was read is written, read and written again, and the same. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "trace/csv_read.h"
#include "trace/csv_write.h"

#include <string.h>

/* Reads a timeline and writes it as text, which the caller frees. 0 or a negative errno. */
static int rewrite(FILE *in, char **ret, size_t *ret_size, struct err *err)
{
	FILE *out = open_memstream(ret, ret_size);
	if (!out)
		abort();
	struct timeline_csv csv = { .out = out };
	struct event_sink sink = timeline_csv_sink(&csv);
	int code = timeline_csv_read(in, "input", &sink, NULL, err);
	fuzz_check(fclose(out) == 0);
	return code;
}

static void check_refusal(const struct err *err)
{
	fuzz_check(strncmp(err->text, "input:", 6) == 0);
	for (const char *p = err->text; *p; p++)
		fuzz_check((unsigned char)*p >= ' ' && *p != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FILE FILE *in = fuzz_open(data, size);
	AUTO_FREE char *first = NULL, *second = NULL;
	size_t first_size, second_size;
	struct err err = { "" };
	if (rewrite(in, &first, &first_size, &err) < 0) {
		check_refusal(&err);
		return 0;
	}
	AUTO_FILE FILE *again = fuzz_open((const uint8_t *)first, first_size);
	fuzz_check(rewrite(again, &second, &second_size, &err) == 0);
	fuzz_check(first_size == second_size && memcmp(first, second, first_size) == 0);
	return 0;
}
