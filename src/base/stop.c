/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

int stop_open(struct err *err)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	int fd = sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -1 : signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? err_set(err, -errno, "cannot catch signals: %s", strerror(errno)) : fd;
}
