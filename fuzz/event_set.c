/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Event sets: what is accepted keeps the promises of collect/event_set.h. */
#include "fuzz.h"

#include "collect/event_set.h"

#include <string.h>

static void check_set(const struct event_set *set)
{
	fuzz_check(set->name && set->source && set->match_count > 0);
	fuzz_check(set->events_count > 0 || set->note);
	for (uint32_t i = 0; i < set->events_count; i++) {
		const struct event_spec *event = &set->events[i];
		fuzz_check(event_set_find(set, event->name) == (int)i);
		fuzz_check(!strpbrk(event->name, ", \"\n"));
		fuzz_check(event->event || event->config != 0);
		for (uint32_t k = 0; k < event->minus_count; k++) {
			int other = event_set_find(set, event->minus[k]);
			fuzz_check(other >= 0 && other != (int)i);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(event_set) struct event_set *set = NULL;
	struct err err = { "" };
	int code = event_set_parse("input", (const char *)data, size, &set, &err);
	fuzz_check((code == 0) == (set != NULL));
	if (code == 0)
		check_set(set);
	else
		fuzz_check(strncmp(err.text, "input:", 6) == 0);
	for (const char *p = err.text; *p; p++)
		fuzz_check((unsigned char)*p >= ' ' && *p != 0x7f);
	return 0;
}
