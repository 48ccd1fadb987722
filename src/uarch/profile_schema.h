/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of a profile file, for its writer and its reader: docs/formats/profile.md. */
#ifndef UARCH_PROFILE_SCHEMA_H
#define UARCH_PROFILE_SCHEMA_H

#include "uarch/profile.h"

/* application_id, "ccpr", is SQLite's own field to tell such databases apart. */
static const char profile_schema[] =
	"PRAGMA application_id = 1667461234;"
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE threads (id INTEGER PRIMARY KEY, pid INT, tid INT, name TEXT,"
	" instructions INT, accesses INT, counted_with INT);"
	"CREATE TABLE classes (id INTEGER PRIMARY KEY, thread INT, stretch INT, kind TEXT, what "
	"TEXT,"
	" site INT, stretches INT, instructions INT, loads INT, stores INT, fetches INT,"
	" first_touches INT, first_touches_global INT);"
	"CREATE TABLE system_calls (class INTEGER PRIMARY KEY, count INT, ns INT);"
	"CREATE TABLE mix (class INT, code_class TEXT, instructions INT,"
	" PRIMARY KEY (class, code_class)) WITHOUT ROWID;"
	"CREATE TABLE codes (id INTEGER PRIMARY KEY, address INT, class TEXT, flags INT, bytes INT,"
	" data_bytes INT, reads INT, address_reads INT, writes INT);"
	"CREATE TABLE bins (bin INTEGER PRIMARY KEY, least INT);"
	"CREATE TABLE reuse (class INT, code INT, scope TEXT, bin INT, samples INT, count REAL);"
	"CREATE TABLE histories (history INTEGER PRIMARY KEY, is_local INT, bits INT,"
	" is_choice INT, is_jump INT, kib INT);"
	"CREATE TABLE branches (class INT, history INT, executions REAL, entropy REAL,"
	" floor_entropy REAL, missed REAL, PRIMARY KEY (class, history)) WITHOUT ROWID;"
	"CREATE TABLE micro_traces (id INTEGER PRIMARY KEY, class INT, count INT, weight REAL, ops "
	"BLOB);"
	"CREATE TABLE sync (pid INT, tid INT, kind TEXT, what TEXT, object INT, site INT, count "
	"INT);"
	"CREATE TABLE names (pid INT, address INT, name TEXT, file TEXT, line INT,"
	" PRIMARY KEY (pid, address)) WITHOUT ROWID;"
	"CREATE TABLE timeline (trace BLOB);";

static const char *const profile_scope_names[PROFILE_SCOPES] = {
	[PROFILE_PRIVATE] = "private",
	[PROFILE_GLOBAL] = "global",
	[PROFILE_FETCH] = "fetch",
	[PROFILE_PAGE] = "page",
};

#endif
