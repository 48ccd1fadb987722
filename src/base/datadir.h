/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds what corecast ships beside its executable: event sets, the preload library, page scripts.
 * A file has the same relative name everywhere:
 *
 *	relative name		in the build tree		installed (prefix /usr)
 *	events/intel.yaml	build/events/intel.yaml		/usr/share/corecast/events/intel.yaml
 *	preload/libx.so		build/preload/libx.so		/usr/lib/.../corecast/preload/libx.so
 *
 * Looked for, in this order: the folder that CORECAST_DATADIR names (a person's own files win),
 * the folder of the running executable and two above it (build/corecast, build/tests/unit/...),
 * then share/corecast and lib/corecast relative to the executable's bin folder, so that an
 * installed tree may be moved.
 */
#ifndef BASE_DATADIR_H
#define BASE_DATADIR_H

#include "base/err.h"

/*
 * The absolute path of a file or folder by its relative name; the caller frees *ret_path.
 * 0, -ENOENT (in none of the places; err names the way out), -ENOMEM.
 */
int datadir_find(const char *relative, char **ret_path, struct err *err);

#endif
