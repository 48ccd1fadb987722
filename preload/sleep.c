/* SPDX-License-Identifier: MIT */
/* Sleeping. */
#include "kernel_clock.h"
#include "real.h"
#include "sink.h"

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * How much later than asked for the kernel may end a sleep, to end it together with another (50 us unless the program
 * says otherwise). Asked once: threads inherit it.
 */
static uint64_t slack_ns(void)
{
	static uint64_t known;
	uint64_t slack = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (slack == 0) {
		int kept = errno, answer = prctl(PR_GET_TIMERSLACK);
		errno = kept;
		slack = answer > 0 ? (uint64_t)answer : 1;
		__atomic_store_n(&known, slack, __ATOMIC_RELAXED);
	}
	return slack;
}

/*
 * A sleeper could go on when its time was over, not when it got a core. The duration is looked at after a sleep that
 * nothing cut short: the kernel could read it, and has left it as it was.
 */
#define SLEEP(call, duration_ns)                                                                   \
	WAIT(SINK_SLEEP, NULL);                                                                    \
	int result = (int)real()->call;                                                            \
	if (result == 0)                                                                           \
		wait_.woken_ns = wait_.start_ns + (duration_ns) + slack_ns();                      \
	return result

EXPORT int nanosleep(const struct timespec *duration, struct timespec *left)
{
	SLEEP(nanosleep(duration, left), timespec_ns(duration));
}

EXPORT int clock_nanosleep(
	clockid_t clock, int flags, const struct timespec *duration, struct timespec *left)
{
	if (!(flags & TIMER_ABSTIME)) {
		SLEEP(clock_nanosleep(clock, flags, duration, left), timespec_ns(duration));
	}
	WAIT(SINK_SLEEP, NULL);
	return real()->clock_nanosleep(clock, flags, duration, left);
}

EXPORT int usleep(useconds_t microseconds)
{
	SLEEP(usleep(microseconds), (uint64_t)microseconds * 1000u);
}

EXPORT unsigned sleep(unsigned seconds)
{
	SLEEP(sleep(seconds), (uint64_t)seconds * 1000000000u);
}

EXPORT int thrd_sleep(const struct timespec *duration, struct timespec *left)
{
	SLEEP(thrd_sleep(duration, left), timespec_ns(duration));
}
