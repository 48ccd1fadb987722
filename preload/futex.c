/* SPDX-License-Identifier: MIT */
/*
 * Futexes that the program asks the kernel for by itself, through syscall(): libstdc++'s barriers, latches, semaphores
 * and futures, Rust's locks, TBB. What they are used for is not known here, only who let whom go.
 */
#include "confined.h"
#include "real.h"
#include "sink.h"

#include <linux/futex.h>
#include <sys/syscall.h>

/*
 * Not as declared, with any number of arguments: so it hands them on as they came, and what the program does by this
 * call (clone, say) finds no frame of ours on the stack.
 */
EXPORT long futex_syscall(long number, void *word, long operation, long value, long timeout,
	long other, long bits) __asm__("syscall");

static bool waits(long operation)
{
	long command = operation & FUTEX_CMD_MASK;
	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI;
}

static __attribute__((noinline)) long await(
	const void *caller, void *word, long operation, long value, long timeout, long bits)
{
	WAIT_FROM(SINK_FUTEX, word, caller);
	long result = real()->syscall(SYS_futex, word, operation, value, timeout, NULL, bits);
	wait_.has_failed = result != 0;
	return result;
}

EXPORT long futex_syscall(
	long number, void *word, long operation, long value, long timeout, long other, long bits)
{
	if (number == SYS_futex && sink_mode != SINK_OFF) {
		if (waits(operation))
			return await(CALLER, word, operation, value, timeout, bits);
		(void)wakes(word, value > 0 && value < WAKE_ALL ? (int)value : WAKE_ALL);
		long result = real()->syscall(number, word, operation, value, timeout, other, bits);
		profiled_resume();
		return result;
	} else if (number == SYS_seccomp && sink_mode != SINK_OFF) {
		confined_by_seccomp((unsigned long)word, (const void *)value);
	}
	return real()->syscall(number, word, operation, value, timeout, other, bits);
}
