/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which hardware events count the stalls of a processor family: data files (events/NAME.yaml, their
 * form in docs/formats/event-set.md), one per family, chosen by ESTIMA's rule (Chatzopoulos,
 * Dragojevic and Guerraoui, "ESTIMA: extrapolating scalability of in-memory applications", 2016,
 * section 3.1): cycles that the back end stalls, in fine-grain categories that do not overlap; no
 * aggregate, nothing of instruction fetch.
 *
 * Some processors count nested conditions only (stalled with a load that missed L1; ... that missed
 * L2). `minus` takes the inner one off, which leaves categories that do not overlap.
 */
#ifndef COLLECT_EVENT_SET_H
#define COLLECT_EVENT_SET_H

#include "base/cleanup.h"
#include "base/err.h"
#include "machine/machine.h"

#include <stdint.h>

enum event_type {
	EVENT_RAW, /* the processor's own code: perf_event_open's PERF_TYPE_RAW */
	EVENT_SOFTWARE, /* the kernel's: PERF_TYPE_SOFTWARE */
};

struct event_spec {
	const char *
		name; /* the category: a letter, then letters, digits, '_'; the column stall:NAME */
	const char *event; /* libpfm4's name ("RESOURCE_STALLS:SB"); NULL: none */
	uint64_t config; /* the same as a code of `type`; 0: only libpfm4 knows */
	enum event_type type;
	const char **minus; /* the categories whose events are nested in this one */
	uint32_t minus_count;
	const char *unit; /* "cycles", "ns", "count" */
	const char *meaning; /* one sentence */
};

/* x86 models or Arm part numbers, from first to last; last 0: only the first. */
struct event_models {
	uint32_t first, last;
};

/* A processor belongs to a family if one of its matches fits. */
struct event_match {
	const char *vendor; /* as struct machine_cpu's */
	uint32_t family; /* x86; 0 on Arm */
	struct event_models *models; /* none: every model of the family */
	uint32_t models_count;
};

struct event_set {
	const char *name; /* the family, for people */
	const char *source; /* the manual that defines the events */
	const char *note; /* what to know about these figures; NULL: nothing */
	const char **
		pmus; /* libpfm4's names of these processors' counters; none: it does not know them */
	uint32_t pmus_count;
	struct event_match *match;
	uint32_t match_count;
	struct event_spec *events;
	uint32_t events_count; /* 0: this family has no event that the rule admits (see note) */
};

/*
 * Reads and checks one file (every field there and of its kind, names that can be a column, names
 * once, `minus` names other events). `path` names the text in errors, which give line and field.
 * 0, -ENOENT and others of fopen, -EINVAL, -ENOMEM. The caller frees *ret with event_set_free().
 */
int event_set_load(const char *path, struct event_set **ret, struct err *err);

/* As above, from memory. */
int event_set_parse(
	const char *path, const char *text, size_t length, struct event_set **ret, struct err *err);

void event_set_free(struct event_set *set);
CLEANUP_DEFINE(event_set, event_set_free)

/*
 * The set of this processor among the files *.yaml of a folder (datadir_find("events", ...)), read
 * in the order of their names. 0; -ENODEV: no file knows this processor (err names it and how to
 * add one); an unreadable or wrong file is an error even when another fits.
 */
int event_set_for_cpu(
	const char *folder, const struct machine_cpu *cpu, struct event_set **ret, struct err *err);

/* The index of the category, or -1. */
int event_set_find(const struct event_set *set, const char *name);

#endif
