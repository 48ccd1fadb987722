/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls with numbers that there are not. */
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 1000 };

int main(void)
{
	static const long numbers[] = { -1, -5, -0x7fffffff, 1000000, SYS_getppid };
	for (int i = 0; i < CALLS; i++)
		for (unsigned k = 0; k < sizeof numbers / sizeof *numbers; k++)
			(void)syscall(numbers[k]);
	return 0;
}
