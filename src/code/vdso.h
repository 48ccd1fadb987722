/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code that the kernel maps into every process, as a file. */
#ifndef CODE_VDSO_H
#define CODE_VDSO_H

#include <stdbool.h>

/* Whether that is what the kernel ("[vdso]") or the dynamic linker ("linux-vdso.so.1") calls so. */
bool vdso_is(const char *path);

/* A descriptor with this process's, for the caller to close; a negative errno. */
int vdso_open(void);

#endif
