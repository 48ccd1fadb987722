/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Growing arrays. Memory is checked like any other failure: -ENOMEM, never an abort.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Makes room for at least `need` elements of `size` bytes in *array, whose capacity is *capacity;
 * grows by half at least, new elements are zeroed. 0 or -ENOMEM, and then nothing has changed.
 */
int mem_grow(void *array, size_t *capacity, size_t need, size_t size);

#endif
