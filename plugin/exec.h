/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profiled program that becomes another one (env, nice, exec in a shell): the emulator would run that natively. Instead an emulator is
 * started for it in this process, with the plugin, and begins anew: raw file and timeline are of the last program.
 *
 *	emulator ... -plugin FILE,... -0 env -E A=B ... /usr/bin/env PROG ARGS
 *	                                                     | execve(PATH, ARGV, ENVIRONMENT) by the guest
 *	                                                     v
 *	emulator ... -plugin FILE,... -0 PROG -E A=B ... PATH ARGS
 *
 * A program is left to the kernel, as any other process that is started, if it is none that the emulator runs (a script, of
 * another architecture), if what is profiled is static (calls.h), or if other processes record into the timeline, too.
 */
#ifndef PLUGIN_EXEC_H
#define PLUGIN_EXEC_H

#include <stdint.h>

/* The guest's system call is about to be made, with these arguments. Returns if it shall be. */
void exec_follow(uint64_t path, uint64_t argv, uint64_t environment);

#endif
