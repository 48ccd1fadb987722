/* SPDX-License-Identifier: MIT */
/*
 * Handlers of signals in a profiled program. QEMU 7.2 calls them with a stack that is 8 bytes beside what the ABI promises,
 * and the first instruction that relies on it ends the program: they are called by a function that does not.
 */
#include "profiled.h"
#include "real.h"
#include "sink.h"

#ifdef __x86_64__

/* Both forms are called with three arguments, whatever the flags. */
union handler {
	__sighandler_t plain;
	void (*full)(int number, siginfo_t *info, void *context);
};

static __sighandler_t handlers[NSIG]; /* the program's own */

static __sighandler_t handler_of(int number)
{
	return __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE);
}

__attribute__((force_align_arg_pointer)) static void call_aligned(
	int number, siginfo_t *info, void *context)
{
	union handler own = { .plain = handler_of(number) };
	own.full(number, info, context);
}

static const union handler aligned = { .full = call_aligned };

static bool is_replaced(int number)
{
	return profiled_page && number > 0 && number < NSIG;
}

/* What the kernel is told instead. */
static __sighandler_t replace(int number, __sighandler_t wanted)
{
	if (wanted == SIG_DFL || wanted == SIG_IGN || wanted == SIG_ERR)
		return wanted;
	__atomic_store_n(&handlers[number], wanted, __ATOMIC_RELEASE);
	return aligned.plain;
}

EXPORT int sigaction(
	int number, const struct sigaction *restrict wanted, struct sigaction *restrict before)
{
	if (!is_replaced(number))
		return real()->sigaction(number, wanted, before);
	__sighandler_t had = handler_of(number);
	struct sigaction ours;
	if (wanted) {
		ours = *wanted;
		ours.sa_handler = replace(number, wanted->sa_handler);
	}
	int result = real()->sigaction(number, wanted ? &ours : NULL, before);
	if (result == 0 && before && before->sa_handler == aligned.plain)
		before->sa_handler = had;
	return result;
}

static __sighandler_t set(
	__sighandler_t (*function)(int, __sighandler_t), int number, __sighandler_t wanted)
{
	if (!is_replaced(number))
		return function(number, wanted);
	__sighandler_t had = handler_of(number);
	__sighandler_t before = function(number, replace(number, wanted));
	return before == aligned.plain ? had : before;
}

EXPORT __sighandler_t signal(int number, __sighandler_t wanted)
{
	return set(real()->signal, number, wanted);
}

/* What signal() is to programs that are built for ISO C alone. */
EXPORT __sighandler_t __sysv_signal(int number, __sighandler_t wanted)
{
	return set(real()->__sysv_signal, number, wanted);
}

#endif
