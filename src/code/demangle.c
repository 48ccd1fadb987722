/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/demangle.h"

#include <stddef.h>

#if HAVE_DEMANGLE
#include <libiberty/demangle.h>

/* All mangled names begin with an underscore; the others need not be tried. */
char *demangle(const char *name)
{
	return name[0] == '_' ? cplus_demangle(name, DMGL_AUTO) : NULL;
}
#else
char *demangle(const char *name)
{
	(void)name;
	return NULL;
}
#endif
