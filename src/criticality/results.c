/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "criticality/results.h"

#include "criticality/findings.h"

#include <errno.h>
#include <stdlib.h>

static void free_groups(struct result_thread *groups, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(groups[i].bins_ns);
	free(groups);
}

void results_free(struct results *results)
{
	if (!results)
		return;
	for (size_t i = 0; i < results->thread_count; i++) {
		free(results->threads[i].name);
		free(results->threads[i].bins_ns);
	}
	free_groups(results->groups, results->group_count);
	for (size_t i = 0; i < results->lock_count; i++)
		free(results->locks[i].name);
	for (size_t i = 0; i < results->module_count; i++)
		free(results->modules[i].path);
	for (size_t i = 0; i < results->stack_count; i++)
		free(results->stacks[i].frames);
	free(results->stacks);
	free(results->threads);
	free(results->locks);
	free(results->sites);
	free(results->idles);
	free(results->modules);
	free(results->findings);
	free(results->program);
	free(results);
}

double results_unseen_share(const struct results *results)
{
	double active = 0;
	for (size_t i = 0; i < results->thread_count; i++)
		active += (double)results->threads[i].running_ns;
	return active > 0 ? (double)results->unseen_ns / active : 0;
}

void results_set_futex(struct results *results, size_t lock, uint8_t what)
{
	struct result_lock *futex = &results->locks[lock];
	if (!futex->is_futex && !futex->is_code)
		return;
	/* Whose waiters let one another go is a lock. A condition may be, too, which shows as turns. */
	futex->is_held |= futex->what == WHAT_FUTEX && what == WHAT_SEM;
	futex->what = what;
}

int results_find_again(struct results *results)
{
	free(results->findings);
	results->findings = NULL;
	results->finding_count = 0;
	return findings_find(results);
}

const struct result_module *results_module(
	const struct results *results, uint32_t pid, uint64_t address)
{
	const struct result_module *best = NULL;
	for (size_t i = 0; i < results->module_count; i++) {
		const struct result_module *module = &results->modules[i];
		if (module->pid != pid || address < module->bias || address >= module->end)
			continue;
		if (!best || module->bias >= best->bias) /* the newest of equals */
			best = module;
	}
	return best;
}

static void add_thread(struct result_thread *to, const struct result_thread *from)
{
	to->count += from->count;
	to->life_ns += from->life_ns;
	to->running_ns += from->running_ns;
	to->alone_ns += from->alone_ns;
	to->ended_idle_ns += from->ended_idle_ns;
	to->criticality_ns += from->criticality_ns;
	for (size_t i = 0; i <= WHAT_OTHER; i++)
		to->waited_ns[i] += from->waited_ns[i];
	for (uint32_t i = 0; i < to->bin_count; i++)
		to->bins_ns[i] += thread_bin_ns(from, i);
}

static int by_criticality(const void *a, const void *b)
{
	const struct result_thread *x = a, *y = b;
	if (x->criticality_ns != y->criticality_ns)
		return x->criticality_ns > y->criticality_ns ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->routine > y->routine) - (x->routine < y->routine);
}

/* An empty group like a thread. 0 or -ENOMEM. */
static int begin_group(struct result_thread *group, const struct result_thread *thread)
{
	*group = (struct result_thread){ .name = thread->name,
		.pid = thread->pid,
		.tid = thread->tid,
		.parent = thread->parent,
		.routine = thread->routine,
		.bins_ns = calloc(STRIP_BINS, sizeof *group->bins_ns),
		.bin_count = STRIP_BINS };
	return group->bins_ns ? 0 : -ENOMEM;
}

/* Appends threads to groups; *count is right also after a failure. */
static int merge_into(struct result_thread *groups, size_t *count, const struct results *results,
	struct index *index)
{
	for (size_t i = 0; i < results->thread_count; i++) {
		const struct result_thread *thread = &results->threads[i];
		uint32_t found = index_find(index, thread->routine, thread->pid);
		if (found == INDEX_NONE) {
			found = (uint32_t)*count;
			if (begin_group(&groups[found], thread) < 0 ||
				index_add(index, thread->routine, thread->pid, (*count)++) < 0)
				return -ENOMEM;
		}
		add_thread(&groups[found], thread);
	}
	return 0;
}

int results_merge(struct results *results)
{
	AUTO_RELEASE(index) struct index index = { 0 };
	struct result_thread *groups = calloc(results->thread_count + 1, sizeof *groups);
	size_t count = 0;
	int code = groups ? merge_into(groups, &count, results, &index) : -ENOMEM;
	if (code < 0) {
		free_groups(groups, count);
		return code;
	}
	qsort(groups, count, sizeof *groups, by_criticality);
	free_groups(results->groups, results->group_count);
	results->groups = groups;
	results->group_count = count;
	return 0;
}
