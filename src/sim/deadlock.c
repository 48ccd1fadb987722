/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of the simulated program, in its own names. */
#include "sim/engine.h"

#include "base/cleanup.h"
#include "base/strbuf.h"

#include <errno.h>
#include <stdarg.h>

enum { THREADS_NAMED = 6 };

/* `own`: as it was made, or NULL. */
static void add_named(
	struct strbuf *text, const struct sim *sim, uint8_t what, uint32_t number, const char *own)
{
	static const char *const words[WHAT_COUNT] = {
		[WHAT_MUTEX] = "mutex",
		[WHAT_SPIN] = "spin lock",
		[WHAT_RWLOCK] = "read-write lock",
		[WHAT_BARRIER] = "barrier",
		[WHAT_COND] = "condition",
		[WHAT_SEM] = "semaphore",
		[WHAT_QUEUE] = "queue",
		[WHAT_THREAD] = "thread",
	};
	const struct sim_program *program = &sim->program;
	const char *name =
		own || !program->name ? own : program->name(program->context, what, number);
	bool has_number = !name || what == WHAT_THREAD;
	strbuf_addf(text, "%s", words[what]);
	if (has_number)
		strbuf_addf(text, " %u", number);
	if (name)
		strbuf_addf(text, " '%s'", name);
}

static void add_thread(struct strbuf *text, const struct sim *sim, uint32_t tid)
{
	add_named(text, sim, WHAT_THREAD, tid, sim->threads[tid - 1].name);
}

static const struct object *object_of(const struct sim *sim, uint8_t what, uint32_t number)
{
	switch (what) {
	case WHAT_MUTEX:
		return &sim->mutexes.all[number].object;
	case WHAT_SPIN:
		return &sim->spins.all[number].object;
	case WHAT_RWLOCK:
		return &sim->rwlocks.all[number].object;
	case WHAT_BARRIER:
		return &sim->barriers.all[number].object;
	case WHAT_COND:
		return &sim->conds.all[number].object;
	case WHAT_SEM:
		return &sim->sems.all[number].object;
	case WHAT_QUEUE:
		return &sim->queues.all[number].object;
	default:
		return NULL;
	}
}

static void add_object(struct strbuf *text, const struct sim *sim, uint8_t what, uint32_t number)
{
	const struct object *object = object_of(sim, what, number);
	add_named(text, sim, what, number, object ? object->name : NULL);
}

int op_error(struct sim *sim, const struct sim_thread *thread, int code, const char *fmt, ...)
{
	AUTO_RELEASE(strbuf) struct strbuf who = { 0 };
	char what[ERR_TEXT_BYTES];
	va_list args;
	va_start(args, fmt);
	(void)vsnprintf(what, sizeof what, fmt, args); /* cut if it is too long */
	va_end(args);
	add_thread(&who, sim, thread->tid);
	if (strbuf_failed(&who) < 0)
		return -ENOMEM;
	return err_set(
		sim->err, code, "at %.9f s, %s %s", 1e-9 * (double)sim->now_ns, who.text, what);
}

int lock_error(struct sim *sim, const struct sim_thread *thread, uint8_t what, uint32_t number,
	uint32_t owner)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_addf(&text, "gives back ");
	add_object(&text, sim, what, number);
	strbuf_addf(&text, ", which ");
	if (owner)
		add_thread(&text, sim, owner);
	else
		strbuf_addf(&text, "nobody");
	strbuf_addf(&text, " holds");
	if (strbuf_failed(&text) < 0)
		return -ENOMEM;
	return op_error(sim, thread, -EPERM, "%s", text.text);
}

/* Who holds the lock that a waiting thread wants, or is joined; 0: that is not one thread. */
static uint32_t held_by(const struct sim *sim, const struct sim_thread *thread)
{
	if (thread->state != THREAD_WAITING && !thread->is_spinning)
		return 0;
	uint32_t number = (uint32_t)thread->wait_number - 1;
	switch (thread->wait_what) {
	case WHAT_MUTEX:
		return sim->mutexes.all[number].owner;
	case WHAT_SPIN:
		return sim->spins.all[number].owner;
	case WHAT_RWLOCK:
		return sim->rwlocks.all[number].writer;
	case WHAT_JOIN:
		return thread->op.object;
	default:
		return 0;
	}
}

/* ", which thread 3 holds" and so on. */
static void add_holder(struct strbuf *text, const struct sim *sim, const struct sim_thread *thread)
{
	uint32_t holder = held_by(sim, thread), number = (uint32_t)thread->wait_number - 1;
	if (thread->wait_what == WHAT_JOIN)
		return;
	if (holder) {
		strbuf_addf(text, ", which ");
		add_thread(text, sim, holder);
		strbuf_addf(text, " holds%s",
			sim->threads[holder - 1].state == THREAD_EXITED ? " and has exited" : "");
	} else if (thread->wait_what == WHAT_RWLOCK && sim->rwlocks.all[number].readers) {
		strbuf_addf(text, ", which %u read", sim->rwlocks.all[number].readers);
	} else if (thread->wait_what == WHAT_BARRIER) {
		const struct barrier *barrier = &sim->barriers.all[number];
		strbuf_addf(text, ", where %u of %u are", barrier->arrived, barrier->threads);
	} else if (thread->wait_what == WHAT_QUEUE) {
		strbuf_addf(text, ", which is %s",
			sim->queues.all[number].count > 0 ? "full" : "empty");
	}
}

static void add_wait(struct strbuf *text, const struct sim *sim, const struct sim_thread *thread)
{
	add_thread(text, sim, thread->tid);
	strbuf_addf(text, " waits for ");
	if (thread->wait_what == WHAT_JOIN) {
		strbuf_addf(text, "the end of ");
		add_thread(text, sim, thread->op.object);
	} else {
		add_object(text, sim, thread->wait_what, (uint32_t)thread->wait_number - 1);
	}
	add_holder(text, sim, thread);
}

static int fail(struct sim *sim, struct strbuf *text)
{
	if (strbuf_failed(text) < 0)
		return -ENOMEM;
	return err_set(sim->err, -EDEADLK, "deadlock at %.9f s: %s", 1e-9 * (double)sim->now_ns,
		text->text);
}

int deadlock_check(
	struct sim *sim, struct sim_thread *thread, const struct subject *subject, uint32_t owner)
{
	uint32_t at = owner;
	/* Nobody else is in a circle, else it would have been found when that closed. */
	while (at && at != thread->tid)
		at = held_by(sim, thread_of(sim, at));
	if (!at)
		return 0;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	thread->state = THREAD_WAITING;
	thread->wait_what = subject->what;
	thread->wait_number = subject->object;
	uint32_t count = 0;
	do {
		if (count > 0)
			strbuf_addf(&text, count < THREADS_NAMED ? "; " : "; ...");
		add_wait(&text, sim, thread_of(sim, at));
		at = held_by(sim, thread_of(sim, at));
	} while (at != thread->tid && ++count < THREADS_NAMED);
	return fail(sim, &text);
}

/* Whether another before it waits for the same: told once, with how many. */
static uint32_t waits_like(
	const struct sim *sim, const struct sim_thread *thread, bool *ret_is_first)
{
	uint32_t count = 0;
	*ret_is_first = true;
	for (size_t i = 0; i < sim->thread_count; i++) {
		const struct sim_thread *other = &sim->threads[i];
		if (other->state == THREAD_EXITED || other->wait_what != thread->wait_what ||
			other->wait_number != thread->wait_number ||
			(other->wait_what == WHAT_JOIN && other != thread))
			continue;
		*ret_is_first &= count++ > 0 || other == thread;
	}
	return count;
}

int deadlock_explain(struct sim *sim)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	uint32_t told = 0, threads = 0;
	for (size_t i = 0; i < sim->thread_count && told < THREADS_NAMED; i++) {
		const struct sim_thread *thread = &sim->threads[i];
		bool is_first;
		if (thread->state == THREAD_EXITED)
			continue;
		uint32_t count = waits_like(sim, thread, &is_first);
		if (!is_first)
			continue;
		if (told++ > 0)
			strbuf_addf(&text, "; ");
		add_wait(&text, sim, thread);
		if (count > 1)
			strbuf_addf(
				&text, " (and so do%s %u more)", count > 2 ? "" : "es", count - 1);
		threads += count;
	}
	if (threads < sim->alive)
		strbuf_addf(&text, "; and %u more", sim->alive - threads);
	return fail(sim, &text);
}
