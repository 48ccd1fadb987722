/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/amended.h"

#include "trace/any_cond.h"
#include "trace/timeline.h"

void amended_release(struct amended *run)
{
	left_out_release(&run->left_out);
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
	struct event_sink first = any_cond_sink(&any);
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
