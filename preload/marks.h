/* SPDX-License-Identifier: MIT */
#ifndef PRELOAD_MARKS_H
#define PRELOAD_MARKS_H

/* In the child of a fork: names told by its parent are not its own. */
void marks_forget(void);

#endif
