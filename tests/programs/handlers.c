/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Handlers of signals, set in each way that there is: whether their stack is where the ABI says, they get what they were
 * promised, and the program is told its own handlers. With and without an emulator the text is the same.
 */
#include "hold.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

extern __sighandler_t __sysv_signal(int number, __sighandler_t handler);

static volatile sig_atomic_t calls, is_beside, number_seen, is_informed;

/* `frame`: of the handler itself. A compiler need not keep to the ABI between functions that it sees. */
static void look_at(int number, const void *frame)
{
	calls++;
	number_seen = number;
	is_beside = (uintptr_t)frame % 16 != 0;
}

static void look(int number)
{
	look_at(number, __builtin_frame_address(0));
}

static void look_closely(int number, siginfo_t *info, void *context)
{
	look_at(number, __builtin_frame_address(0));
	is_informed = info->si_signo == number && context != NULL;
}

static void send(const char *what, int number)
{
	calls = number_seen = 0;
	check(raise(number) == 0, "raise");
	printf("%s: %d call, %s number, stack %s\n", what, (int)calls,
		number_seen == number ? "its" : "another", is_beside ? "beside" : "in place");
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = look_closely, .sa_flags = SA_SIGINFO }, before;
	sigemptyset(&action.sa_mask);
	check(sigaction(SIGUSR1, &action, &before) == 0 && before.sa_handler == SIG_DFL,
		"sigaction");
	send("sigaction", SIGUSR1);
	check(is_informed, "siginfo");
	check(signal(SIGUSR2, look) == SIG_DFL, "signal");
	send("signal", SIGUSR2);
	check(signal(SIGUSR2, SIG_IGN) == look, "the handler before");
	check(__sysv_signal(SIGALRM, look) == SIG_DFL, "__sysv_signal");
	send("sysv_signal", SIGALRM);
	check(signal(SIGALRM, SIG_IGN) == SIG_DFL, "once only");
	check(sigaction(SIGUSR1, NULL, &before) == 0 && before.sa_sigaction == look_closely,
		"the action before");
	return 0;
}
