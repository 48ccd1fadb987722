/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/amended.h"

#include "trace/any_cond.h"
#include "trace/timeline.h"

void amended_release(struct amended *run)
{
	left_out_release(&run->left_out);
}

/* Who yields in a loop works, to who plays that again: for what it waits is not known. */
static int pass_on(void *context, const struct event *event, struct err *err)
{
	return event_is_at_place(event) ? 0 : sink_event(context, event, err);
}

static int pass_end(void *context, uint64_t end_ns, struct err *err)
{
	return sink_finish(context, end_ns, err);
}

/* sink: NULL: only to know of sections that were left out. */
static int feed(struct amended *run, const struct event_sink *sink, struct err *err)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	int code = timeline_open(run->path, &reader, err);
	if (code < 0)
		return code;
	struct event_sink second = left_out_sink(&run->left_out, sink);
	AUTO_RELEASE(any_cond) struct any_cond any = { .next = &second };
	struct event_sink next = any_cond_sink(&any);
	struct event_sink first = { .context = &next, .event = pass_on, .finish = pass_end };
	code = trace_reader_replay(reader, &first, err);
	if (code == 0)
		run->quality = *trace_reader_quality(reader);
	return code;
}

int amended_look(struct amended *run, struct err *err)
{
	int code = run->is_known ? 0 : feed(run, NULL, err);
	run->is_known = code == 0;
	return code;
}

int amended_replay(struct amended *run, const struct event_sink *sink, struct err *err)
{
	int code = amended_look(run, err);
	return code < 0 ? code : feed(run, sink, err);
}
