/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/vocabulary.h"

#include "base/mem.h"
#include "trace/event.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

static const char *const kind_words[] = {
	[EVENT_NONE] = "",
	[EVENT_THREAD_START] = "start",
	[EVENT_THREAD_EXIT] = "exit",
	[EVENT_WAIT] = "wait",
	[EVENT_WOKEN] = "woken",
	[EVENT_PASS] = "pass",
	[EVENT_RELEASE] = "release",
	[EVENT_TRY_FAILED] = "try_failed",
	[EVENT_REGION_BEGIN] = "region_begin",
	[EVENT_REGION_END] = "region_end",
	[EVENT_REQUEST_BEGIN] = "request_begin",
	[EVENT_REQUEST_END] = "request_end",
	[EVENT_TICK] = "tick",
	[EVENT_RUN] = "run",
	[EVENT_PREEMPT] = "preempt",
	[EVENT_SAMPLE] = "sample",
	[EVENT_NAME] = "name",
	[EVENT_LOST] = "lost",
	[EVENT_DISK_QUEUE] = "disk_queue",
	[EVENT_DISK_START] = "disk_start",
	[EVENT_DISK_END] = "disk_end",
	[EVENT_INIT] = "init",
	[EVENT_FRAME] = "frame",
	[EVENT_LEFT_OUT] = "left_out",
	[EVENT_CALLER] = "caller",
};

static const char *const what_words[] = {
	[WHAT_NONE] = "",
	[WHAT_MUTEX] = "mutex",
	[WHAT_RWLOCK] = "rwlock",
	[WHAT_SPIN] = "spin",
	[WHAT_COND] = "cond",
	[WHAT_BARRIER] = "barrier",
	[WHAT_SEM] = "sem",
	[WHAT_JOIN] = "join",
	[WHAT_SLEEP] = "sleep",
	[WHAT_IO] = "io",
	[WHAT_QUEUE] = "queue",
	[WHAT_DISK] = "disk",
	[WHAT_FUTEX] = "futex",
	[WHAT_OTHER] = "other",
	[WHAT_THREAD] = "thread",
	[WHAT_REGION] = "region",
	[WHAT_MODULE] = "module",
	[WHAT_PROGRAM] = "program",
	[WHAT_STACK] = "stack",
};

/* By bit; NULL: no flag of events. */
static const char *const flag_words[] = { "waited", "shared", "implicit", "all", "timed_out",
	"before", NULL, NULL, "write", "metadata", "ahead", "flush", "ordered", NULL, "spins",
	"tried" };

static_assert(ARRAY_SIZE(kind_words) == EVENT_KINDS, "a word for each");
static_assert(ARRAY_SIZE(what_words) == WHAT_COUNT, "a word for each");
static_assert(1 << (ARRAY_SIZE(flag_words) - 1) == EVENT_TRIED, "a word for each");
static_assert(ARRAY_SIZE(flag_words) == EVENT_FLAG_BITS, "a word for each");

const char *event_kind_word(unsigned kind)
{
	return kind < ARRAY_SIZE(kind_words) ? kind_words[kind] : "?";
}

const char *event_what_word(unsigned what)
{
	return what < ARRAY_SIZE(what_words) ? what_words[what] : "?";
}

const char *event_flag_word(unsigned bit)
{
	return flag_words[bit];
}

static int find(const char *const *words, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -EINVAL;
}

int event_kind_parse(const char *word)
{
	return find(kind_words, ARRAY_SIZE(kind_words), word);
}

int event_what_parse(const char *word)
{
	return find(what_words, ARRAY_SIZE(what_words), word);
}

static int parse_flag(const char *word, size_t length)
{
	for (unsigned bit = 0; bit < EVENT_FLAG_BITS; bit++)
		if (flag_words[bit] && strlen(flag_words[bit]) == length &&
			strncmp(flag_words[bit], word, length) == 0)
			return 1 << bit;
	return -EINVAL;
}

int event_flags_parse(const char *words)
{
	int flags = 0;
	while (*words) {
		size_t length = strcspn(words, "|");
		int flag = parse_flag(words, length);
		if (flag < 0)
			return flag;
		flags |= flag;
		words += length;
		words += *words == '|' && words[1] != '\0';
	}
	return flags;
}

void event_flags_words(unsigned flags, char ret[EVENT_FLAGS_BYTES])
{
	char *end = ret;
	*end = '\0';
	for (unsigned bit = 0; bit < EVENT_FLAG_BITS; bit++) {
		if (!(flags >> bit & 1) || !flag_words[bit])
			continue;
		if (end > ret)
			*end++ = '|';
		end = stpcpy(end, flag_words[bit]);
	}
}
