/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lets a library's thread wait for each item until it sleeps, or may. */
#include "hold.h"
#include "queue_library.h"

static void prepare(void)
{
	sleep_ms(2);
}

int main(void)
{
	queue_run(prepare);
	return 0;
}
