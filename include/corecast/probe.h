/* SPDX-License-Identifier: MIT */
/*
 * Marks in a recording: which part of the program runs, which request is served, how much work is
 * done. Header only, C99 and C++; nothing to link. Under `corecast record` each mark is a record of
 * about 30 ns; otherwise it is a test of a pointer.
 *
 *	corecast_region_begin("parse");
 *	parse(file);
 *	corecast_region_end("parse");
 *
 * All functions may be called from any thread. They need the default of today's distributions,
 * position independent code; a program linked with -no-pie adds -Wl,-z,dynamic-undefined-weak.
 */
#ifndef CORECAST_PROBE_H
#define CORECAST_PROBE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum corecast_mark {
	CORECAST_REGION_BEGIN,
	CORECAST_REGION_END,
	CORECAST_REQUEST_BEGIN,
	CORECAST_REQUEST_END,
	CORECAST_TICK
};

/* Given by the recorder's library while a program is recorded; else its address is NULL. */
extern void corecast_probe_mark(int mark, const char *name, uint64_t value) __attribute__((weak));

/*
 * A part of this thread's work. Regions nest; each ends in the thread in which it began. `name` is
 * a string that stays, with the same content, for the rest of the run: a literal.
 */
static inline void corecast_region_begin(const char *name)
{
	if (corecast_probe_mark)
		corecast_probe_mark(CORECAST_REGION_BEGIN, name, 0);
}

static inline void corecast_region_end(const char *name)
{
	if (corecast_probe_mark)
		corecast_probe_mark(CORECAST_REGION_END, name, 0);
}

/* One request of a server, by a number of its own; it may end in another thread. */
static inline void corecast_request_begin(uint64_t number)
{
	if (corecast_probe_mark)
		corecast_probe_mark(CORECAST_REQUEST_BEGIN, (const char *)0, number);
}

static inline void corecast_request_end(uint64_t number)
{
	if (corecast_probe_mark)
		corecast_probe_mark(CORECAST_REQUEST_END, (const char *)0, number);
}

/* Units of work that were done since the last tick of this thread. */
static inline void corecast_tick(uint64_t units)
{
	if (corecast_probe_mark)
		corecast_probe_mark(CORECAST_TICK, (const char *)0, units);
}

#ifdef __cplusplus
}
#endif

#endif
