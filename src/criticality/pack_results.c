/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results as bytes and back: one walk over all that they point to, which either reads or writes. */
#include "criticality/results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct carrier {
	struct strbuf *out; /* NULL: from `bytes` */
	const char *bytes;
	size_t left;
	bool failed; /* whatever is read after that is empty */
};

static void carry(struct carrier *c, void *data, size_t size)
{
	if (c->out) {
		strbuf_add_bytes(c->out, data, size);
		return;
	}
	c->failed |= size > c->left;
	if (c->failed || size == 0)
		return;
	memcpy(data, c->bytes, size);
	c->bytes += size;
	c->left -= size;
}

/* `array`: the address of a pointer to *count elements. */
static void carry_array(struct carrier *c, void *array, size_t *count, size_t size)
{
	void **data = array;
	if (!c->out) {
		*data = NULL;
		c->failed |= *count > c->left / size;
		if (!c->failed)
			c->failed = !(*data = calloc(*count + 1, size));
		if (c->failed)
			*count = 0;
	}
	if (*count > 0)
		carry(c, *data, *count * size);
}

static void carry_text(struct carrier *c, char **text)
{
	size_t length = c->out && *text ? strlen(*text) + 1 : 0;
	carry(c, &length, sizeof length);
	if (length > 0)
		carry_array(c, text, &length, 1);
	else if (!c->out)
		*text = NULL;
}

static void carry_thread(struct carrier *c, struct result_thread *thread)
{
	size_t bins = thread->bin_count;
	carry_text(c, &thread->name);
	carry_array(c, &thread->bins_ns, &bins, sizeof *thread->bins_ns);
	thread->bin_count = (uint32_t)bins;
}

static void carry_results(struct carrier *c, struct results *r)
{
	carry(c, r, sizeof *r);
	carry_text(c, &r->program);
	carry_array(c, &r->threads, &r->thread_count, sizeof *r->threads);
	for (size_t i = 0; i < r->thread_count; i++)
		carry_thread(c, &r->threads[i]);
	carry_array(c, &r->locks, &r->lock_count, sizeof *r->locks);
	for (size_t i = 0; i < r->lock_count; i++)
		carry_text(c, &r->locks[i].name);
	carry_array(c, &r->sites, &r->site_count, sizeof *r->sites);
	carry_array(c, &r->idles, &r->idle_count, sizeof *r->idles);
	carry_array(c, &r->stacks, &r->stack_count, sizeof *r->stacks);
	for (size_t i = 0; i < r->stack_count; i++)
		carry_array(c, &r->stacks[i].frames, &r->stacks[i].frame_count,
			sizeof *r->stacks[i].frames);
	carry_array(c, &r->modules, &r->module_count, sizeof *r->modules);
	for (size_t i = 0; i < r->module_count; i++)
		carry_text(c, &r->modules[i].path);
	carry_array(c, &r->findings, &r->finding_count, sizeof *r->findings);
}

int results_pack(const struct results *results, struct strbuf *out)
{
	struct carrier c = { .out = out };
	struct results walked = *results; /* of what it points to nothing is written */
	walked.groups = NULL;
	walked.group_count = 0;
	carry_results(&c, &walked);
	return strbuf_failed(out);
}

int results_unpack(const char *bytes, size_t length, struct results **ret)
{
	struct carrier c = { .bytes = bytes, .left = length };
	AUTO(results) struct results *results = calloc(1, sizeof *results);
	if (!results)
		return -ENOMEM;
	carry_results(&c, results);
	if (c.failed)
		return -ENOMEM;
	*ret = TAKE(results);
	return 0;
}
