/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SQLite's handles, freed by scope: AUTO(sqlite3) sqlite3 *db = NULL. */
#ifndef UARCH_SQLITE_H
#define UARCH_SQLITE_H

#include "base/cleanup.h"

#include <sqlite3.h>

static inline void cleanup_sqlite3(sqlite3 **db)
{
	(void)sqlite3_close(*db); /* in memory: there is nothing to lose */
}

static inline void cleanup_sqlite3_stmt(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement); /* tells the failure of its last step once more */
}

#endif
