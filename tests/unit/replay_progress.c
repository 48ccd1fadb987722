/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that wait for several things at one condition. The timelines are those of one core, which runs its threads in
 * turn for a piece of work of 1 ms each; what is asked is how long they take on as many cores as there are threads.
 */
#include "replay_fixture.h"

#include "base/strbuf.h"

#include <inttypes.h>

enum { THREADS_MAX = 8, MS = 1000000 };

enum program {
	WAVE, /* cell i of a thread needs that of the thread before */
	STENCIL, /* step i of a thread needs step i - 1 of both neighbours */
	BUFFER, /* half of the threads put, half get, which takes twice as long; room for two */
	EXCHANGE, /* step i of a thread needs step i - 1 of the one before or behind it, by turns */
	TURNS, /* who came first works first */
	MAIL, /* each passes on to a thread drawn by lot */
};

/* A thread waits, works, and tells: again and again. BUFFER's makers work first. */
struct runner {
	int done; /* its progress */
	int mail;
	int ticket; /* TURNS: how many came before */
	bool is_served; /* TURNS: it is to work, others come meanwhile */
	bool is_waiting, is_woken, is_over;
};

struct run {
	enum program program;
	int threads, rounds, items, tickets, served;
	struct runner runners[THREADS_MAX];
	struct strbuf text;
	uint64_t now_ms, last_ns, cpu_ms[THREADS_MAX];
	uint32_t lot;
};

static void line(struct run *r, int thread, const char *what)
{
	uint64_t now_ns = r->now_ms * MS + 1;
	r->last_ns = now_ns > r->last_ns ? now_ns : r->last_ns + 1; /* events have an order */
	strbuf_addf(&r->text, "%" PRIu64 ",t%d,%" PRIu64 ",%s\n", r->last_ns, thread,
		r->cpu_ms[thread] * MS + 1, what);
}

static bool is_maker(const struct run *r, int thread)
{
	return r->program == BUFFER && thread < r->threads / 2;
}

static bool may_go_on(const struct run *r, int thread)
{
	const struct runner *me = &r->runners[thread];
	int partner = thread + ((thread + me->done) % 2 ? -1 : 1);
	switch (r->program) {
	case WAVE:
		return thread == 0 || me[-1].done > me->done;
	case STENCIL:
		return (thread == 0 || me[-1].done >= me->done) &&
		       (thread == r->threads - 1 || me[1].done >= me->done);
	case EXCHANGE:
		return partner < 0 || partner >= r->threads || r->runners[partner].done >= me->done;
	case TURNS:
		return me->ticket == r->served;
	case BUFFER:
		return is_maker(r, thread) ? r->items < 2 : r->items > 0;
	case MAIL:
		return me->mail > 0;
	}
	return true;
}

static void tell(struct run *r, int thread)
{
	line(r, thread, "release,cond,c,9,,all");
	for (int i = 0; i < r->threads; i++)
		r->runners[i].is_woken = true;
}

static void enter(struct run *r, int thread)
{
	line(r, thread, "pass,mutex,m,7,,");
}

static void leave(struct run *r, int thread)
{
	line(r, thread, "release,mutex,m,7,,");
}

static void work(struct run *r, int thread)
{
	int ms = r->program == BUFFER && !is_maker(r, thread) ? 2 : 1;
	r->now_ms += (uint64_t)ms;
	r->cpu_ms[thread] += (uint64_t)ms;
}

static void publish(struct run *r, int thread)
{
	line(r, thread, "pass,mutex,m,8,,");
	if (r->program == MAIL) {
		r->lot = r->lot * 1103515245 + 12345;
		r->runners[(r->lot >> 16) % (unsigned)r->threads].mail++;
	}
	r->served++;
	tell(r, thread);
	leave(r, thread);
}

/* It has what it waited for, and has the lock. */
static void go_on(struct run *r, int thread)
{
	if (r->program == BUFFER) {
		r->items += is_maker(r, thread) ? 1 : -1;
		tell(r, thread);
	}
	r->runners[thread].mail--;
	leave(r, thread);
	r->runners[thread].is_served = r->program == TURNS;
	if (r->program == TURNS)
		return;
	if (!is_maker(r, thread))
		work(r, thread);
	if (r->program != BUFFER)
		publish(r, thread);
	r->runners[thread].done++;
}

static void end_turn(struct run *r, int thread)
{
	work(r, thread);
	publish(r, thread);
	r->runners[thread].is_served = false;
	r->runners[thread].done++;
}

/* Until it waits, or has done one round. */
static void turn(struct run *r, int thread)
{
	struct runner *me = &r->runners[thread];
	if (me->is_served) {
		end_turn(r, thread);
		return;
	}
	if (me->is_over || (me->is_waiting && !me->is_woken))
		return;
	if (me->is_waiting) {
		line(r, thread, "pass,cond,c,9,,waited");
		line(r, thread, "pass,mutex,m,7,,implicit");
	} else if (me->done == r->rounds) {
		me->is_over = true;
		line(r, thread, "exit,,,,,");
		return;
	} else {
		if (is_maker(r, thread))
			work(r, thread);
		if (is_maker(r, thread))
			line(r, thread, "pass,mutex,m,6,,");
		else
			enter(r, thread);
		me->ticket = r->tickets++;
	}
	me->is_waiting = !may_go_on(r, thread);
	me->is_woken = false;
	if (!me->is_waiting) {
		go_on(r, thread);
		return;
	}
	line(r, thread, "release,mutex,m,7,,implicit");
	line(r, thread, "wait,cond,c,9,m,");
}

/* Who has its turn is drawn by lot: with one after the other hardly anybody would have to wait. */
static struct fixture record(enum program program, int threads, int rounds)
{
	struct run r = { .program = program, .threads = threads, .rounds = rounds, .lot = 1 };
	strbuf_addf(&r.text, "time_ns,tid,cpu_ns,event,what,object,site,value,flags\n");
	for (int i = 0; i < threads; i++) {
		line(&r, i, "start,,,,,");
		r.runners[i].mail = 1;
	}
	for (int i = 0; i < 1000 * rounds; i++) {
		r.lot = r.lot * 1103515245 + 12345;
		turn(&r, (int)((r.lot >> 16) % (unsigned)threads));
	}
	for (int i = 0; i < threads; i++)
		assert_true(
			r.runners[i].is_over || program == MAIL); /* there, some get too little */
	struct fixture f = load(r.text.text, 1);
	strbuf_release(&r.text);
	return f;
}

static const struct meaning_cond *cond_of(const struct fixture *f)
{
	size_t count;
	const struct meaning_cond *conds = meaning_conds(f->meaning, &count);
	assert_int_equal(count, 1);
	return conds;
}

static double ms_on(struct fixture *f, uint32_t cores)
{
	return (double)play(f, cores, NULL, 0) / MS;
}

static void a_wave_front_goes_on_as_one(void **state)
{
	(void)state;
	struct fixture f = record(WAVE, 6, 40);
	assert_int_equal(cond_of(&f)->kind, MEANING_PROGRESS);
	assert_float_equal(ms_on(&f, 1), 240, 1);
	assert_float_equal(ms_on(&f, 6), 45, 1); /* 40 cells, and 5 threads that begin later */
	release(&f);
}

static void a_stencil_waits_for_both_neighbours(void **state)
{
	(void)state;
	struct fixture f = record(STENCIL, 5, 40);
	assert_int_equal(cond_of(&f)->kind, MEANING_PROGRESS);
	assert_float_equal(ms_on(&f, 1), 200, 1);
	assert_float_equal(ms_on(&f, 5), 40, 1);
	struct replay_change slow = speed_of(2, 0.5); /* all wait for it */
	assert_float_equal((double)play(&f, 5, &slow, 1) / MS, 80, 3);
	release(&f);
}

/* 100 items, of which each consumer takes 2 ms; makers could do twice as many, but for the room. */
static void room_and_items_may_have_one_condition(void **state)
{
	(void)state;
	size_t count;
	struct fixture f = record(BUFFER, 4, 50);
	assert_int_equal(cond_of(&f)->kind, MEANING_PROGRESS);
	assert_false(cond_of(&f)->is_partial);
	(void)meaning_needs(f.meaning, &count);
	assert_int_equal(count, 2);
	assert_float_equal(ms_on(&f, 4), 101, 1);
	release(&f);
}

static void partners_may_change_by_turns(void **state)
{
	(void)state;
	size_t count;
	struct fixture f = record(EXCHANGE, 6, 60);
	assert_int_equal(cond_of(&f)->kind, MEANING_PROGRESS);
	assert_int_equal(meaning_needs(f.meaning, &count)->period, 2);
	assert_float_equal(ms_on(&f, 6), 60, 1);
	release(&f);
}

/* Woken all together, they look again until it is their turn. */
static void who_came_first_may_go_first(void **state)
{
	(void)state;
	size_t count;
	struct fixture f = record(TURNS, 6, 20);
	assert_int_equal(cond_of(&f)->kind, MEANING_PROGRESS);
	const struct meaning_need *need = meaning_needs(f.meaning, &count);
	assert_int_equal(count, 1);
	assert_int_equal(need->counts, MEANING_BEFORE);
	assert_float_equal(ms_on(&f, 6), 120, 1);
	release(&f);
}

static void mail_from_anybody_is_nobodys_progress(void **state)
{
	(void)state;
	struct fixture f = record(MAIL, 6, 100);
	assert_in_range(cond_of(&f)->waits, 50, 100000);
	assert_int_equal(cond_of(&f)->kind, MEANING_UNKNOWN);
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wave_front_goes_on_as_one),
		cmocka_unit_test(a_stencil_waits_for_both_neighbours),
		cmocka_unit_test(room_and_items_may_have_one_condition),
		cmocka_unit_test(partners_may_change_by_turns),
		cmocka_unit_test(who_came_first_may_go_first),
		cmocka_unit_test(mail_from_anybody_is_nobodys_progress),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
