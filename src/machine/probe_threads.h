/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the threads of probes do beside what is measured. */
#ifndef MACHINE_PROBE_THREADS_H
#define MACHINE_PROBE_THREADS_H

#include "base/clock.h"

#include <semaphore.h>
#include <stdint.h>

static inline void probe_await(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0)
		continue;
}

static inline void probe_work(uint64_t ns)
{
	uint64_t until_ns = clock_now_ns(CLOCK_MONOTONIC) + ns;
	while (clock_now_ns(CLOCK_MONOTONIC) < until_ns)
		continue;
}

#endif
