/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurement sets from texts in a test. */
#ifndef TESTS_RUNS_TEXT_H
#define TESTS_RUNS_TEXT_H

#include "cmocka_all.h"

#include "scaling/runs.h"

#include <errno.h>
#include <string.h>

static inline int read_bytes(const char *bytes, size_t length, const struct runs_read_opts *opts,
	struct runs **ret, struct err *err)
{
	/* fmemopen takes no empty buffer. */
	AUTO_FILE FILE *in = length > 0 ? fmemopen((char *)bytes, length, "r") : tmpfile();
	assert_non_null(in);
	return runs_read(in, "r.csv", opts, ret, err);
}

/* The set; fails the test with the message if there is none. Free with runs_free(). */
static inline struct runs *expect_runs(const char *text)
{
	struct runs *runs = NULL;
	struct err err = { "" };
	if (read_bytes(text, strlen(text), NULL, &runs, &err) < 0)
		fail_msg("%s", err.text);
	return runs;
}

/* Refused, with each of the two texts in the message and nothing returned. */
static inline void expect_refused_bytes(
	const char *bytes, size_t length, const char *place, const char *why)
{
	struct runs *runs = NULL;
	struct err err = { "" };
	assert_int_equal(read_bytes(bytes, length, NULL, &runs, &err), -EINVAL);
	assert_null(runs);
	if (strncmp(err.text, place, strlen(place)) != 0 || !strstr(err.text, why) ||
		strchr(err.text, '\n'))
		fail_msg("'%s' is not '%s...%s'", err.text, place, why);
}

static inline void expect_refused(const char *text, const char *place, const char *why)
{
	expect_refused_bytes(text, strlen(text), place, why);
}

#endif
