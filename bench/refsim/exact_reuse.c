/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/exact_reuse.h"

#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

/* A line: when it was last met, by anybody and by each thread. Times count accesses, from 1. */
struct line {
	uint64_t met;
	uint64_t met_by[EXACT_THREADS_MAX]; /* 0: never; in the thread's own accesses */
	uint32_t stale; /* bit t: another thread has written since t met it */
	uint32_t fetched_by; /* bit t */
};

struct lines {
	struct map index;
	struct line *lines;
	size_t count, capacity;
};

struct exact_thread {
	uint64_t accesses, fetches, last_fetch;
	uint32_t class;
};

struct exact_reuse {
	uint32_t threads, classes, codes;
	uint64_t accesses;
	struct exact_thread *of_thread;
	struct profile_class *of_class;
	struct lines data, code;
	struct map rows; /* (class, code), (scope, bin) to a row */
	struct profile_reuse *row;
	size_t row_count, row_capacity;
};

int exact_reuse_new(uint32_t threads, uint32_t classes, uint32_t codes, struct exact_reuse **ret)
{
	if (threads == 0 || threads > EXACT_THREADS_MAX)
		return -EINVAL;
	AUTO(exact_reuse) struct exact_reuse *reuse = calloc(1, sizeof(*reuse));
	if (!reuse)
		return -ENOMEM;
	reuse->threads = threads;
	reuse->classes = classes;
	reuse->codes = codes;
	reuse->of_thread = calloc(threads, sizeof(*reuse->of_thread));
	reuse->of_class = calloc(classes, sizeof(*reuse->of_class));
	if (!reuse->of_thread || !reuse->of_class)
		return -ENOMEM;
	*ret = TAKE(reuse);
	return 0;
}

void exact_reuse_free(struct exact_reuse *reuse)
{
	if (!reuse)
		return;
	free(reuse->of_thread);
	free(reuse->of_class);
	free(reuse->data.lines);
	free(reuse->code.lines);
	free(reuse->row);
	map_release(&reuse->data.index);
	map_release(&reuse->code.index);
	map_release(&reuse->rows);
	free(reuse);
}

void exact_reuse_enter(struct exact_reuse *reuse, uint32_t thread, uint32_t class)
{
	reuse->of_thread[thread].class = class;
	reuse->of_class[class].thread = thread;
	reuse->of_class[class].stretches++;
}

static struct line *line_of(struct lines *lines, uint64_t address)
{
	uint64_t *index;
	int status = map_add(&lines->index, address / PROFILE_LINE_BYTES, 0, lines->count, &index);
	if (status < 0)
		return NULL;
	if (status > 0) {
		if (mem_grow(&lines->lines, &lines->capacity, lines->count + 1,
			    sizeof(*lines->lines)) < 0)
			return NULL;
		lines->lines[lines->count++] = (struct line){ 0 };
	}
	return &lines->lines[*index];
}

static int count(
	struct exact_reuse *reuse, uint32_t class, uint32_t code, uint16_t scope, unsigned bin)
{
	uint64_t *index;
	int status = map_add(&reuse->rows, (uint64_t) class << 32 | code,
		(uint64_t)scope << 16 | bin, reuse->row_count, &index);
	if (status < 0)
		return status;
	if (status > 0) {
		status = mem_grow(&reuse->row, &reuse->row_capacity, reuse->row_count + 1,
			sizeof(*reuse->row));
		if (status < 0)
			return status;
		reuse->row[reuse->row_count++] = (struct profile_reuse){
			.class = class, .code = code, .scope = scope, .bin = (uint16_t)bin
		};
	}
	reuse->row[*index].samples++;
	reuse->row[*index].count++;
	return 0;
}

int exact_reuse_access(
	struct exact_reuse *reuse, uint32_t thread, uint32_t code, uint64_t address, bool is_write)
{
	struct exact_thread *of = &reuse->of_thread[thread];
	struct profile_class *class = &reuse->of_class[of->class];
	struct line *line = line_of(&reuse->data, address);
	if (!line)
		return -ENOMEM;
	uint32_t bit = UINT32_C(1) << thread;
	uint64_t own = ++of->accesses, all = ++reuse->accesses;
	bool is_known = line->met_by[thread] > 0 && !(line->stale & bit);
	unsigned private_bin =
		is_known ? reuse_bin(own - line->met_by[thread] - 1) : REUSE_INFINITE;
	unsigned global_bin = line->met > 0 ? reuse_bin(all - line->met - 1) : REUSE_INFINITE;
	class->loads += !is_write;
	class->stores += is_write;
	class->first_touches += line->met_by[thread] == 0;
	class->first_touches_global += line->met == 0;
	line->met = all;
	line->met_by[thread] = own;
	line->stale &= ~bit;
	if (is_write)
		line->stale |= ~bit;
	int status = count(reuse, of->class, code, PROFILE_PRIVATE, private_bin);
	return status < 0 ? status : count(reuse, of->class, code, PROFILE_GLOBAL, global_bin);
}

int exact_reuse_fetch(struct exact_reuse *reuse, uint32_t thread, uint64_t address)
{
	struct exact_thread *of = &reuse->of_thread[thread];
	uint64_t number = address / PROFILE_LINE_BYTES + 1;
	reuse->of_class[of->class].instructions++;
	if (number == of->last_fetch)
		return 0;
	of->last_fetch = number;
	struct line *line = line_of(&reuse->code, address);
	if (!line)
		return -ENOMEM;
	uint64_t now = ++of->fetches, met = line->met_by[thread];
	line->met_by[thread] = now;
	reuse->of_class[of->class].fetches++;
	return count(reuse, of->class, PROFILE_NO_CODE, PROFILE_FETCH,
		met > 0 ? reuse_bin(now - met - 1) : REUSE_INFINITE);
}

static int by_class_and_code(const void *left, const void *right)
{
	const struct profile_reuse *one = left, *other = right;
	if (one->class != other->class)
		return one->class < other->class ? -1 : 1;
	if (one->code != other->code)
		return one->code < other->code ? -1 : 1;
	if (one->scope != other->scope)
		return one->scope < other->scope ? -1 : 1;
	return (one->bin > other->bin) - (one->bin < other->bin);
}

int exact_reuse_profile(const struct exact_reuse *reuse, struct profile *ret)
{
	struct profile profile = {
		.threads = calloc(reuse->threads, sizeof(*profile.threads)),
		.thread_count = reuse->threads,
		.classes = calloc(reuse->classes, sizeof(*profile.classes)),
		.class_count = reuse->classes,
		.codes = calloc(reuse->codes + 1, sizeof(*profile.codes)),
		.code_count = reuse->codes,
		.reuse = calloc(reuse->row_count + 1, sizeof(*profile.reuse)),
		.reuse_count = reuse->row_count,
	};
	if (!profile.threads || !profile.classes || !profile.codes || !profile.reuse) {
		profile_release(&profile);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < reuse->threads; i++)
		profile.threads[i].accesses = reuse->of_thread[i].accesses;
	for (uint32_t i = 0; i < reuse->classes; i++)
		profile.classes[i] = reuse->of_class[i];
	for (uint32_t i = 0; i < reuse->codes; i++)
		profile.codes[i].flags = CODE_LOAD;
	for (size_t i = 0; i < reuse->row_count; i++)
		profile.reuse[i] = reuse->row[i];
	if (reuse->row_count > 0)
		qsort(profile.reuse, reuse->row_count, sizeof(*profile.reuse), by_class_and_code);
	*ret = profile;
	return 0;
}
