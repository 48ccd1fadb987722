/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects the critical sections of each mutex; judge.c draws the conclusions. */
#include "meaning/meaning.h"

#include "base/map.h"
#include "base/mem.h"
#include "meaning/parts.h"

#include <errno.h>
#include <stdlib.h>

int meaning_new(struct meaning **ret)
{
	*ret = calloc(1, sizeof **ret);
	return *ret ? 0 : -ENOMEM;
}

void meaning_of_other_pace(struct meaning *meaning)
{
	meaning->is_of_other_pace = true;
}

/* What only the judges need: most of the memory. */
static void forget_what_happened(struct meaning *meaning)
{
	for (size_t i = 0; i < meaning->mutex_count; i++)
		free(meaning->mutexes[i].log);
	for (size_t i = 0; i < meaning->thread_count; i++)
		free(meaning->threads[i].open);
	free(TAKE(meaning->mutexes));
	free(TAKE(meaning->threads));
	meaning->mutex_count = meaning->thread_count = 0;
}

void meaning_free(struct meaning *meaning)
{
	if (!meaning)
		return;
	for (size_t i = 0; i < meaning->type_count; i++)
		free(meaning->types[i].parts);
	forget_what_happened(meaning);
	for (size_t i = 0; i < meaning->cond_count; i++) {
		free(meaning->uses[i].waiters);
		free(meaning->uses[i].signallers);
	}
	free(meaning->types);
	free(meaning->conds);
	free(meaning->uses);
	free(meaning->needs);
	free(meaning->refused);
	free(meaning->vain);
	map_release(&meaning->type_index);
	map_release(&meaning->mutex_index);
	map_release(&meaning->thread_index);
	map_release(&meaning->cond_index);
	map_release(&meaning->exempt);
	map_release(&meaning->taken);
	free(meaning);
}

/* The index stored for a key, or a new one: 1 if it is new. */
static int index_of(struct map *map, uint64_t a, uint64_t b, size_t next, uint32_t *ret)
{
	uint64_t *slot;
	int code = next >= UINT32_MAX ? -ENOMEM : map_add(map, a, b, next, &slot);
	if (code >= 0)
		*ret = (uint32_t)*slot;
	return code;
}

static int thread_of(struct meaning *m, const struct event *event, struct meaning_thread **ret)
{
	uint32_t index;
	if (mem_grow(&m->threads, &m->thread_capacity, m->thread_count + 1, sizeof *m->threads) < 0)
		return -ENOMEM;
	int code = index_of(&m->thread_index, event->pid, event->tid, m->thread_count, &index);
	if (code < 0)
		return code;
	m->thread_count += (size_t)code;
	m->threads[index].tid = event->tid;
	*ret = &m->threads[index];
	return 0;
}

static int mutex_of(struct meaning *m, uint32_t pid, uint64_t object, uint32_t *ret)
{
	if (mem_grow(&m->mutexes, &m->mutex_capacity, m->mutex_count + 1, sizeof *m->mutexes) < 0)
		return -ENOMEM;
	int code = index_of(&m->mutex_index, pid, object, m->mutex_count, ret);
	m->mutex_count += code > 0;
	return code < 0 ? code : 0;
}

/* Keys of types: the mutex's index and the site. */
static int type_of(struct meaning *m, uint32_t mutex, const struct event *event, uint32_t *ret)
{
	if (mem_grow(&m->types, &m->type_capacity, m->type_count + 1, sizeof *m->types) < 0)
		return -ENOMEM;
	int code = index_of(&m->type_index, mutex, event->site, m->type_count, ret);
	if (code > 0)
		m->types[m->type_count++] = (struct meaning_section){
			.pid = event->pid, .mutex = event->object, .site = event->site
		};
	return code < 0 ? code : 0;
}

static int cond_of(struct meaning *m, const struct event *event, uint64_t mutex, uint32_t *ret)
{
	if (mem_grow(&m->conds, &m->cond_capacity, m->cond_count + 1, sizeof *m->conds) < 0 ||
		mem_grow(&m->uses, &m->use_capacity, m->cond_count + 1, sizeof *m->uses) < 0)
		return -ENOMEM;
	int code = index_of(&m->cond_index, event->pid, event->object, m->cond_count, ret);
	if (code > 0)
		m->conds[m->cond_count++] =
			(struct meaning_cond){ .pid = event->pid, .object = event->object };
	if (code >= 0 &&
		mutex) /* of several the last one: the first waits of some are passed on raw (any_cond.h) */
		m->conds[*ret].mutex = mutex;
	return code < 0 ? code : 0;
}

static int log_add(struct meaning *m, uint32_t mutex, struct meaning_entry entry)
{
	struct meaning_mutex *mine = &m->mutexes[mutex];
	if (mem_grow(&mine->log, &mine->capacity, mine->count + 1, sizeof *mine->log) < 0)
		return -ENOMEM;
	mine->log[mine->count++] = entry;
	return 0;
}

static struct meaning_open *find_open(struct meaning_thread *thread, uint32_t mutex)
{
	for (size_t i = thread->open_count; i-- > 0;)
		if (thread->open[i].mutex == mutex)
			return &thread->open[i];
	return NULL;
}

static int section_begin(
	struct meaning *m, struct meaning_thread *thread, const struct event *event)
{
	struct meaning_open open = { .section = m->section_count++ };
	int code = mutex_of(m, event->pid, event->object, &open.mutex);
	if (code == 0)
		code = type_of(m, open.mutex, event, &open.type);
	if (code < 0)
		return code;
	m->types[open.type].executions++;
	thread->last = (struct meaning_open){ .mutex = UINT32_MAX };
	if (mem_grow(&thread->open, &thread->capacity, thread->open_count + 1,
		    sizeof *thread->open) < 0)
		return -ENOMEM;
	thread->open[thread->open_count++] = open;
	return 0;
}

static int section_end(struct meaning *m, struct meaning_thread *thread, const struct event *event)
{
	uint32_t mutex;
	int code = mutex_of(m, event->pid, event->object, &mutex);
	struct meaning_open *open = code < 0 ? NULL : find_open(thread, mutex);
	if (!open)
		return code;
	thread->last = *open;
	*open = thread->open[--thread->open_count];
	thread->last.end = m->mutexes[mutex].count + 1;
	thread->awaits_next = true;
	return log_add(m, mutex,
		(struct meaning_entry){ .what = ENTRY_END,
			.subject = thread->last.type,
			.type = thread->last.type,
			.section = thread->last.section,
			.thread = (uint32_t)(thread - m->threads),
			.is_timed_out = thread->last.is_timed_out,
			.has_signalled = thread->last.has_signalled });
}

static int use_add(uint32_t **list, size_t *count, size_t *capacity, uint32_t type)
{
	for (size_t i = 0; i < *count; i++)
		if ((*list)[i] == type)
			return 0;
	if (mem_grow(list, capacity, *count + 1, sizeof **list) < 0)
		return -ENOMEM;
	(*list)[(*count)++] = type;
	return 0;
}

static bool waited_last_for(const struct meaning *m, const struct meaning_open *open, uint32_t cond)
{
	const struct meaning_entry *log = m->mutexes[open->mutex].log;
	return open->wait > 0 && log[open->wait - 1].what == ENTRY_WAIT &&
	       log[open->wait - 1].subject == cond;
}

static int cond_wait(struct meaning *m, struct meaning_thread *thread, const struct event *event)
{
	uint32_t cond = 0, mutex = 0;
	int code = cond_of(m, event, event->value, &cond);
	if (code == 0)
		code = mutex_of(m, event->pid, event->value, &mutex);
	struct meaning_open *open = code < 0 ? NULL : find_open(thread, mutex);
	if (!open)
		return code;
	struct meaning_use *use = &m->uses[cond];
	struct meaning_entry entry = { .what = ENTRY_WAIT,
		.subject = cond,
		.type = open->type,
		.section = open->section,
		.thread = (uint32_t)(thread - m->threads),
		.is_again = open->wait > 0 };
	if (use_add(&use->waiters, &use->waiter_count, &use->waiter_capacity, open->type) < 0 ||
		log_add(m, mutex, entry) < 0)
		return -ENOMEM;
	m->conds[cond].waits++;
	use->turns += open->wait > 0 && open->has_told;
	use->again += !open->has_told && waited_last_for(m, open, cond);
	open->has_told = false;
	open->wait = m->mutexes[mutex].count;
	open->is_timed_out = false;
	return 0;
}

/* A wait that timed out says nothing about items. */
static int cond_pass(struct meaning *m, struct meaning_thread *thread, const struct event *event)
{
	uint32_t cond = meaning_find_cond(m, event->pid, event->object);
	for (size_t i = thread->open_count; i-- > 0 && cond != UINT32_MAX;) {
		struct meaning_open *open = &thread->open[i];
		if (open->wait == 0)
			continue;
		struct meaning_entry *entry = &m->mutexes[open->mutex].log[open->wait - 1];
		if (entry->subject != cond || entry->what != ENTRY_WAIT)
			continue;
		entry->what = ENTRY_NOTHING;
		m->conds[cond].waits--;
		open->is_timed_out = true;
		break;
	}
	return 0;
}

/* A signal belongs to the innermost open section, or to the one that the thread has just left. */
static int cond_signal(struct meaning *m, struct meaning_thread *thread, const struct event *event)
{
	uint32_t cond;
	int code = cond_of(m, event, 0, &cond);
	if (code < 0)
		return code;
	struct meaning_open *section = &thread->last;
	if (thread->open_count > 0)
		section = &thread->open[thread->open_count - 1];
	if (section->mutex == UINT32_MAX || !thread->has_locked)
		return 0;
	section->has_signalled = section->has_told = true;
	if (section->end > 0)
		m->mutexes[section->mutex].log[section->end - 1].has_signalled = true;
	struct meaning_use *use = &m->uses[cond];
	bool is_broadcast = event->flags & EVENT_ALL;
	code = use_add(
		&use->signallers, &use->signaller_count, &use->signaller_capacity, section->type);
	use->signals += !is_broadcast;
	return code < 0 ? code
			: log_add(m, section->mutex,
				  (struct meaning_entry){
					  .what = is_broadcast ? ENTRY_BROADCAST : ENTRY_SIGNAL,
					  .subject = cond,
					  .section = section->section,
					  .type = section->type,
					  .thread = (uint32_t)(thread - m->threads) });
}

/* What a thread does after a section tells how that ended; signals do not count. */
static int note_next(struct meaning *m, const struct event *event)
{
	struct meaning_thread *thread;
	bool is_step = event->kind == EVENT_WAIT || event->kind == EVENT_PASS ||
		       event->kind == EVENT_THREAD_EXIT || event->kind == EVENT_RELEASE;
	if (!is_step || (event->kind == EVENT_RELEASE && event->what == WHAT_COND))
		return 0;
	int code = thread_of(m, event, &thread);
	if (code < 0 || !thread->awaits_next)
		return code;
	thread->awaits_next = false;
	m->mutexes[thread->last.mutex].log[thread->last.end - 1].next =
		(event->site << 8 | event->what) + 1;
	return 0;
}

static int add_event(void *context, const struct event *event, struct err *err)
{
	struct meaning *m = context;
	struct meaning_thread *thread;
	bool is_mutex =
		event->what == WHAT_MUTEX && !(event->flags & (EVENT_IMPLICIT | EVENT_TIMED_OUT));
	int code = note_next(m, event);
	if (code < 0 || (!is_mutex && event->what != WHAT_COND))
		return code < 0 ? err_set(err, code, "out of memory") : 0;
	code = thread_of(m, event, &thread);
	if (code == 0 && is_mutex && event->kind == EVENT_PASS) {
		code = section_begin(m, thread, event);
		thread->has_locked = true;
	} else if (code == 0 && is_mutex && event->kind == EVENT_RELEASE) {
		code = section_end(m, thread, event);
	} else if (code == 0 && event->what == WHAT_COND && event->kind == EVENT_WAIT) {
		code = cond_wait(m, thread, event);
	} else if (code == 0 && event->what == WHAT_COND && event->kind == EVENT_PASS &&
		   event->flags & EVENT_TIMED_OUT) {
		code = cond_pass(m, thread, event);
	} else if (code == 0 && event->what == WHAT_COND && event->kind == EVENT_RELEASE) {
		code = cond_signal(m, thread, event);
	}
	return code < 0 ? err_set(err, code, "out of memory") : 0;
}

static int finish(void *context, uint64_t end_ns, struct err *err)
{
	(void)end_ns;
	int code = meaning_judge(context);
	forget_what_happened(context);
	return code < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

struct event_sink meaning_sink(struct meaning *meaning)
{
	return (struct event_sink){ .context = meaning, .event = add_event, .finish = finish };
}

const struct meaning_section *meaning_find(
	const struct meaning *meaning, uint32_t pid, uint64_t mutex, uint64_t site)
{
	const uint64_t *index = map_find(&meaning->mutex_index, pid, mutex);
	const uint64_t *type = index ? map_find(&meaning->type_index, *index, site) : NULL;
	return type ? &meaning->types[*type] : NULL;
}

const struct meaning_section *meaning_sections(const struct meaning *meaning, size_t *ret_count)
{
	*ret_count = meaning->type_count;
	return meaning->types;
}

const struct meaning_cond *meaning_conds(const struct meaning *meaning, size_t *ret_count)
{
	*ret_count = meaning->cond_count;
	return meaning->conds;
}

const struct meaning_need *meaning_needs(const struct meaning *meaning, size_t *ret_count)
{
	*ret_count = meaning->need_count;
	return meaning->needs;
}

uint32_t meaning_find_cond(const struct meaning *meaning, uint32_t pid, uint64_t object)
{
	const uint64_t *index = map_find(&meaning->cond_index, pid, object);
	return index ? (uint32_t)*index : UINT32_MAX;
}

void meaning_forget(struct meaning *meaning, uint32_t cond)
{
	meaning->conds[cond].kind = MEANING_UNKNOWN;
	for (size_t i = 0; i < meaning->type_count; i++) {
		struct meaning_section *type = &meaning->types[i];
		size_t kept = 0;
		for (size_t k = 0; k < type->part_count; k++)
			if (type->parts[k].cond != cond)
				type->parts[kept++] = type->parts[k];
		type->part_count = kept;
	}
	size_t kept = 0;
	for (size_t i = 0; i < meaning->need_count; i++)
		if (meaning->needs[i].cond != cond)
			meaning->needs[kept++] = meaning->needs[i];
	meaning->need_count = kept;
}

void meaning_forget_ends(struct meaning *meaning)
{
	for (uint32_t i = 0; i < meaning->cond_count; i++)
		if (meaning->conds[i].kind == MEANING_QUEUE && meaning->conds[i].ends_itself)
			meaning_forget(meaning, i);
}

bool meaning_is_exempt(
	const struct meaning *meaning, uint32_t cond, uint64_t section, uint64_t *ret_given)
{
	const uint64_t *given = map_find(&meaning->exempt, cond, section);
	if (given)
		*ret_given = *given;
	return given;
}

static bool is_set(const struct meaning *meaning, const uint8_t *bits, uint64_t section)
{
	return section < meaning->section_count && bits && (bits[section / 8] >> (section % 8) & 1);
}

bool meaning_is_refused(const struct meaning *meaning, uint64_t section)
{
	return is_set(meaning, meaning->refused, section);
}

bool meaning_is_vain(const struct meaning *meaning, uint64_t section)
{
	return is_set(meaning, meaning->vain, section);
}

void meaning_mark(uint8_t *bits, uint64_t section)
{
	bits[section / 8] |= (uint8_t)(1 << section % 8);
}

uint64_t meaning_taken(const struct meaning *meaning, uint32_t cond, uint64_t section)
{
	const struct meaning_cond *of = &meaning->conds[cond];
	const uint64_t *taken =
		map_find(&meaning->taken, of->puts_taken ? of->taken_of : cond, section);
	return taken ? *taken : 0;
}
