/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_PROGRAMS_QUEUE_LIBRARY_H
#define TESTS_PROGRAMS_QUEUE_LIBRARY_H

enum { QUEUE_ITEMS = 20 };

/* A thread of the library takes items, each of which is there when `prepare` returns. */
__attribute__((visibility("default"))) void queue_run(void (*prepare)(void));

#endif
