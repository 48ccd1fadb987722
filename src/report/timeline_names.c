/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/timeline_names.h"

#include "base/cleanup.h"
#include "report/criticality_code.h"
#include "report/criticality_view.h"

#include <errno.h>
#include <string.h>

static int add(struct event_names *names, uint32_t pid, uint8_t what, uint64_t object,
	const struct strbuf *text, size_t from)
{
	if (strbuf_failed(text) < 0)
		return -ENOMEM;
	const struct event name = { .kind = EVENT_NAME,
		.what = what,
		.pid = pid,
		.object = object,
		.text = text->text + from };
	return event_names_add(names, &name);
}

/* "mutex made in ...": who shows it says itself that it is a mutex. */
static size_t length_of_kind(const char *text, uint8_t what)
{
	const char *kind = what_name(what);
	size_t length = strlen(kind);
	return strncmp(text, kind, length) == 0 && text[length] == ' ' ? length + 1 : 0;
}

int timeline_names_add_locks(struct event_names *names, const struct criticality_input *input)
{
	const struct results *results = input->results;
	for (size_t i = 0; i < results->lock_count; i++) {
		const struct result_lock *lock = &results->locks[i];
		uint8_t what = lock->is_futex ? WHAT_FUTEX : lock->what;
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		if (event_names_find(names, lock->pid, what, lock->address))
			continue;
		criticality_add_lock(&text, results, input->finder, lock);
		size_t from = text.text ? length_of_kind(text.text, lock->what) : 0;
		if (add(names, lock->pid, what, lock->address, &text, from) < 0)
			return -ENOMEM;
	}
	return 0;
}

int timeline_names_add_site(
	struct event_names *names, const struct criticality_input *input, const struct event *event)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	if (!event->site || event->kind == EVENT_NAME ||
		event_names_find(names, event->pid, WHAT_NONE, event->site))
		return 0;
	/* Where a call returns to: the call lies before it. */
	criticality_add_code(&text, input->results, input->finder, event->pid, event->site - 1);
	return add(names, event->pid, WHAT_NONE, event->site, &text, 0);
}
