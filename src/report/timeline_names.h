/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an analysis calls things, for writers of timelines: names of locks and of code. */
#ifndef REPORT_TIMELINE_NAMES_H
#define REPORT_TIMELINE_NAMES_H

#include "report/criticality.h"
#include "trace/event_names.h"

/* Adds the locks of the results that have no name yet. 0 or -ENOMEM. */
int timeline_names_add_locks(struct event_names *names, const struct criticality_input *input);

/* Adds the call of an event, as the name of WHAT_NONE at its site. 0 or -ENOMEM. */
int timeline_names_add_site(struct event_names *names, const struct criticality_input *input,
	const struct event *event);

#endif
