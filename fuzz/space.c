/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Space files: the points of what is accepted are processors that fit together; what is not has a place. */
#include "fuzz.h"

#include "uarch/space.h"

#include <string.h>

enum { POINTS = 50 };

static void check_points(const struct space *space)
{
	const char *field = NULL;
	static char text[] = "fuzz";
	struct processor base = { .name = text, .source = text, .cores = 2 };
	for (size_t i = 0; machine_field(i); i++)
		(void)machine_field_set(machine_field(i), &base, machine_field(i)->least, false,
			NULL); /* the least of all */
	size_t count = space_size(space);
	fuzz_check(count > 0 && count <= SPACE_POINTS_MAX && space_axis(space, 0));
	for (size_t i = 0; i < count && i < POINTS; i++) {
		struct processor point = { 0 };
		struct err err = { "" };
		int code = space_point(space, &base, i, &point, &err);
		fuzz_check(code == 1 || err.text[0]);
		fuzz_check(code < 1 || processor_check(&point, &field, NULL) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(space) struct space *space = NULL;
	struct err err = { "" };
	int code = space_parse("input", (const char *)data, size, &space, &err);
	fuzz_check((code == 0) == (space != NULL));
	if (code == 0)
		check_points(space);
	else
		fuzz_check(strncmp(err.text, "input", 5) == 0);
	for (const char *p = err.text; *p; p++)
		fuzz_check((unsigned char)*p >= ' ' && *p != 0x7f);
	return 0;
}
