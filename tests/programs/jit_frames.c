/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tells the unwinder of code that it made, as just-in-time compilers do, and takes that back, which is done under the
 * unwinder's own lock.
 */
#include <stdio.h>

/* libgcc's, which no header shows. */
struct object;
void __register_frame_info(const void *begin, struct object *object);
void *__deregister_frame_info(const void *begin);

/* One entry that says how frames are described, and the end. */
static const unsigned char description[] __attribute__((aligned(8))) = { 12, 0, 0, 0, 0, 0, 0, 0, 1,
	0, 1, 0x78, 16, 0, 0, 0, 0, 0, 0, 0 };
static void *object[16];

int main(void)
{
	__register_frame_info(description, (struct object *)object);
	if (__deregister_frame_info(description) != object)
		return 1;
	(void)puts("taken back");
	return 0;
}
