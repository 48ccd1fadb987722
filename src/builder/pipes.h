/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pipes and eventfds as queues. A recording tells how many bytes went in and out; where some threads of a program write and others
 * read so many at a time, that many are an item:
 *
 *	write 8, 8, 8 ...	put
 *	read 8 (waited), 8, 0	get, which waits if there is none; get, which finds the queue closed
 *	poll (waited), read 8	get, which waits
 *
 * Of an eventfd each read is for one write, if they are as many (EFD_SEMAPHORE, or who reads at once). What is read in pieces of any
 * size, whatever is there, is no queue: waits for it then are as long as recorded.
 */
#ifndef BUILDER_PIPES_H
#define BUILDER_PIPES_H

#include "builder/trace.h"

/* Before threads are compared. 0 or -ENOMEM. */
int build_pipes_find(struct build_trace *trace);

#endif
