/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads, one after the other, make the same long system calls, and no other. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 20, BYTES = 1 << 23 };

static int zero;
static char room[BYTES];

static void *read_much(void *unused)
{
	for (int i = 0; i < CALLS; i++)
		if (read(zero, room, BYTES) < BYTES)
			_exit(1);
	return unused;
}

int main(void)
{
	pthread_t thread;
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	memset(room, 1, sizeof room);
	(void)read_much(
		NULL); /* the kernel's first touch of a page takes longer under some hypervisors */
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&thread, NULL, read_much, NULL) != 0)
			return 1;
		(void)pthread_join(thread, NULL); /* it ends by itself */
	}
	return 0;
}
