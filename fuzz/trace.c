/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trace files, raw and closed: read to the end, in order of time, and closed. */
#include "fuzz.h"

#include "trace/close.h"
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

/* The number of events, or a negative errno. */
static int64_t read_all(int fd, struct err *err)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	struct event event;
	uint64_t last_ns = 0;
	bool has_read = false;
	int code = trace_reader_open_fd(fd, "input", &reader, err);
	fuzz_check((code == 0) == (reader != NULL));
	if (code < 0)
		return code;
	while ((code = trace_reader_next(reader, &event, err)) > 0) {
		fuzz_check(event.time_ns >= last_ns);
		fuzz_check(event.kind > EVENT_NONE && event.kind < EVENT_KINDS);
		fuzz_check(event.what < WHAT_COUNT);
		fuzz_check(event.woken_ns <= event.time_ns);
		fuzz_check((event.kind == EVENT_NAME) == (event.text != NULL));
		last_ns = event.time_ns;
		has_read |= event.kind != EVENT_LOST;
	}
	/* The end of a damaged file of which nothing could be read is an error. */
	fuzz_check(code == 0 || (code == -EBADMSG && !has_read));
	if (code < 0)
		return code;
	const struct trace_quality *quality = trace_reader_quality(reader);
	fuzz_check(quality->end_ns >= last_ns);
	return (int64_t)quality->events;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { "" };
	if (read_all(file_of(data, size), &err) < 0) {
		fuzz_check(err.text[0] != '\0');
		return 0;
	}
	/* What can be read can be closed. */
	AUTO_FD int raw = file_of(data, size);
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", raw);
	fuzz_check(trace_close(path, "/dev/null", 0, NULL, &err) == 0);
	return 0;
}
