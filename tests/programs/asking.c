/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks what the processor can do, as programs do that choose their code by it, then works. */
#if defined(__x86_64__)
#include <cpuid.h>
#endif

int main(void)
{
	unsigned part[4] = { 1 };
#if defined(__x86_64__)
	(void)__get_cpuid(1, &part[0], &part[1], &part[2], &part[3]);
#endif
	for (volatile unsigned i = 0; i < 300000; i++)
		part[1] ^= part[0] + i;
	return 0;
}
