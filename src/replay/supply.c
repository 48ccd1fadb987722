/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Supplies: where threads of one kind take pieces of work from. Which thread had which piece is the outcome of one
 * interleaving; in the replay the next piece goes to whoever asks next (deal.c).
 *
 *	head | take piece | take piece | take BOUND | take piece | take BOUND
 *
 * A thread's operations are cut after each operation at one call site that can be the taking: a get from a queue
 * (meaning.h), a wait for a semaphore that others post, a read of a pipe, a lock. Segments in which it meets certain other threads (a
 * barrier, a start, a join, its end) are its own, and divide the others into epochs. A supply is believed if
 *
 *	- all its threads run the same function (or are the first one of their process), come through as many epochs
 *	  and hold as many locks at each taking; all pieces of an epoch are taken before any of the next;
 *	- of a lock, of which nothing says what it protects: in three quarters of the epochs, once one thread has found
 *	  nothing, nobody finds a piece any more; threads had different numbers of them; and they do not work before
 *	  the first taking of an epoch, or after the last. Who works off a part that was assigned beforehand has either the
 *	  same number as the others, or goes on when they have ended; who tells after each piece has worked before.
 *
 * Each thread takes part in one supply at most: queues come before locks, the most used ones first.
 */
#include "replay/parts.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TRIED_MAX = 16,
	TAKES_LEAST = 4, /* fewer are not worth it */
	UNEVEN = 2, /* pieces of one thread and another differ by so many */
};

struct candidate {
	uint32_t object, takers, last_taker;
	uint8_t kind; /* enum step_kind of the taking */
	bool is_mixed; /* its threads run several functions */
	uint64_t site, takes, routine;
};

struct segment {
	uint64_t order; /* of the takings */
	size_t from; /* the step after the taking */
	uint32_t thread, epoch;
	uint32_t pieces; /* how many its thread had before it in this epoch */
	bool is_bound, is_refused;
};

struct search {
	struct replay *replay;
	const struct candidate *candidate;
	struct segment *segments;
	size_t count, capacity;
	bool keeps_pieces; /* else only those that are bound are among the segments */
	size_t held; /* locks at each taking */
	uint32_t epochs, takers;
	uint64_t piece_ns,
		aside_ns[2]; /* work in pieces; before the first taking of an epoch, after the last */
	bool is_refuted;
};

bool supply_is_take(uint8_t kind, uint32_t object, uint64_t site, const struct step *step)
{
	return step->kind == kind && step->object == object && step->site == site;
}

static const struct meaning_cond *meaning_of(const struct replay *replay, uint32_t object)
{
	size_t count;
	uint32_t meaning = replay->objects[object].meaning;
	return replay->opts.meaning && meaning != UINT32_MAX
		       ? &meaning_conds(replay->opts.meaning, &count)[meaning]
		       : NULL;
}

static bool can_be_take(const struct replay *replay, const struct step *step)
{
	if (step->object == REPLAY_NONE)
		return false;
	const struct load_object *object = &replay->objects[step->object];
	const struct meaning_cond *meaning;
	switch ((enum step_kind)step->kind) {
	case STEP_DECIDE:
		meaning = meaning_of(replay, step->object);
		return meaning && meaning->kind == MEANING_QUEUE && meaning->get_items == 1 &&
		       step->class == MEANING_GETS;
	case STEP_SEM_WAIT:
		return !object->takes_turns &&
		       (object->what == WHAT_SEM ||
			       (object->what == WHAT_QUEUE && step->other == 1));
	case STEP_LOCK:
		return !step->is_shared && !object->guards_condition && !object->takes_turns &&
		       (object->play == PLAY_MUTEX || object->play == PLAY_SPIN) &&
		       replay->facts.left_out == 0;
	default:
		return false;
	}
}

/* Whether a thread does with certain other ones what nobody else can do for it. */
static bool binds(const struct replay *replay, const struct step *step)
{
	const struct meaning_cond *meaning;
	switch ((enum step_kind)step->kind) {
	case STEP_BARRIER:
	case STEP_DOCK:
	case STEP_SPAWN:
	case STEP_JOIN:
	case STEP_AWAIT_WAKE:
	case STEP_EXIT:
		return true;
	case STEP_DECIDE:
		meaning = meaning_of(replay, step->object);
		return !meaning || meaning->kind == MEANING_BARRIER ||
		       meaning->kind == MEANING_PROGRESS || meaning->kind == MEANING_GENERATIONS;
	default:
		return false;
	}
}

static bool is_first_thread(const struct load_thread *thread)
{
	return thread->pid == thread->tid;
}

static void count_take(struct candidate *candidate, const struct replay *replay, uint32_t index)
{
	const struct load_thread *thread = &replay->threads[index];
	candidate->takes++;
	if (candidate->last_taker == index)
		return;
	candidate->last_taker = index;
	candidate->takers++;
	if (is_first_thread(thread))
		return;
	candidate->is_mixed |=
		candidate->routine != UINT64_MAX && candidate->routine != thread->routine;
	candidate->routine = thread->routine;
}

static int find_candidates(const struct replay *replay, struct candidate **ret, size_t *ret_count)
{
	AUTO_RELEASE(map) struct map index = { 0 };
	size_t capacity = 0;
	for (uint32_t i = 0; i < replay->thread_count; i++) {
		const struct load_thread *thread = &replay->threads[i];
		for (size_t k = 0; k < thread->count; k++) {
			const struct step *step = &thread->steps[k];
			uint64_t *place;
			if (!can_be_take(replay, step))
				continue;
			if (mem_grow(ret, &capacity, *ret_count + 1, sizeof **ret) < 0)
				return -ENOMEM;
			int code = map_add(&index, (uint64_t)step->object << 8 | step->kind,
				step->site, *ret_count, &place);
			if (code < 0)
				return code;
			if (code > 0)
				(*ret)[(*ret_count)++] = (struct candidate){ .object = step->object,
					.kind = step->kind,
					.site = step->site,
					.last_taker = REPLAY_NONE,
					.routine = UINT64_MAX };
			count_take(&(*ret)[*place], replay, i);
		}
	}
	return 0;
}

static int by_preference(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if ((x->kind == STEP_LOCK) != (y->kind == STEP_LOCK))
		return x->kind == STEP_LOCK ? 1 : -1;
	if (x->takes != y->takes)
		return x->takes > y->takes ? -1 : 1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

/* Where a thread is while its segments are collected. */
struct place {
	uint32_t thread;
	size_t at, held; /* its step; locks */
	size_t open; /* the segment that it is in, plus one; 0: none yet */
	uint64_t work_ns; /* since the last taking, or what bound it */
	bool has_posted; /* to the semaphore that is the place */
};

static void count_work(
	struct search *s, struct place *place, const struct segment *open, bool is_bound)
{
	if (is_bound && open && !open->is_bound)
		s->aside_ns[1] += place->work_ns;
	else if (!is_bound && open && !open->is_bound)
		s->piece_ns += place->work_ns;
	else if (!is_bound)
		s->aside_ns[0] += place->work_ns;
	place->work_ns = 0;
}

static int look_at(struct search *s, struct place *place)
{
	const struct step *step = &s->replay->threads[place->thread].steps[place->at];
	const struct candidate *c = s->candidate;
	struct segment *open = place->open ? &s->segments[place->open - 1] : NULL;
	place->work_ns += step->work_ns;
	if (binds(s->replay, step)) {
		count_work(s, place, open, true);
		if (open)
			open->is_bound = true;
	}
	place->has_posted |= step->kind == STEP_SEM_POST && step->object == c->object;
	if (!supply_is_take(c->kind, c->object, c->site, step))
		return 0;
	count_work(s, place, open, false);
	s->is_refuted |= s->count > 0 && place->held != s->held;
	s->held = place->held;
	struct segment next = { .thread = place->thread,
		.from = place->at + 1,
		.order = step->amount,
		.is_refused = step->is_refused };
	if (open) {
		s->is_refuted |= open->is_refused && !open->is_bound;
		next.epoch = open->epoch + open->is_bound;
		next.pieces = open->is_bound ? 0 : open->pieces + 1;
	}
	if (open && !open->is_bound && !s->keeps_pieces) {
		*open = next;
		return 0;
	}
	if (mem_grow(&s->segments, &s->capacity, s->count + 1, sizeof *s->segments) < 0)
		return -ENOMEM;
	s->segments[s->count++] = next;
	place->open = s->count;
	return 0;
}

static int collect(struct search *s, uint32_t index)
{
	const struct load_thread *thread = &s->replay->threads[index];
	struct place place = { .thread = index };
	for (; place.at < thread->count && !s->is_refuted; place.at++) {
		const struct step *step = &thread->steps[place.at];
		bool is_semaphore = step->object != REPLAY_NONE &&
				    s->replay->objects[step->object].play == PLAY_SEM;
		place.held += step->kind == STEP_LOCK && !is_semaphore;
		place.held -= step->kind == STEP_UNLOCK && !is_semaphore && place.held > 0;
		if (look_at(s, &place) < 0)
			return -ENOMEM;
	}
	if (place.open == 0)
		return 0;
	struct segment *last = &s->segments[place.open - 1];
	last->is_bound = true;
	/* Who gives back what it took takes no work. */
	s->is_refuted |= place.has_posted || thread->supply > 0 ||
			 (s->takers > 0 && s->epochs != last->epoch + 1);
	s->epochs = last->epoch + 1;
	s->takers++;
	return 0;
}

static int by_order(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;
	if (x->epoch != y->epoch)
		return x->epoch < y->epoch ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* Segments of an epoch: whether nobody found a piece after one had found none. */
static bool ran_dry(const struct segment *segments, size_t count)
{
	bool is_dry = false;
	for (size_t i = 0; i < count; i++) {
		if (is_dry && !segments[i].is_bound)
			return false;
		is_dry |= segments[i].is_bound;
	}
	return true;
}

static bool is_uneven(const struct segment *segments, size_t count)
{
	size_t least = SIZE_MAX, most = 0;
	for (size_t i = 0; i < count; i++) {
		if (!segments[i].is_bound)
			continue;
		least = segments[i].pieces < least ? segments[i].pieces : least;
		most = segments[i].pieces > most ? segments[i].pieces : most;
	}
	return most >= UNEVEN && most - UNEVEN >= least;
}

/* Whether the work beside the pieces is less than half of what as many pieces would be. */
static bool works_in_pieces(const struct search *s, size_t pieces)
{
	double aside = (double)s->takers * s->epochs, piece_ns = (double)s->piece_ns;
	return 2 * (double)s->aside_ns[0] * (double)pieces <= aside * piece_ns &&
	       2 * (double)s->aside_ns[1] * (double)pieces <= aside * piece_ns;
}

/* The end of the epoch that begins there. */
static size_t epoch_end(const struct search *s, size_t from)
{
	size_t end = from;
	while (end < s->count && s->segments[end].epoch == s->segments[from].epoch)
		end++;
	return end;
}

/* By what its threads did at the ends of the epochs. */
static bool is_likely(const struct search *s)
{
	size_t pieces = 0;
	bool has_uneven = false;
	for (size_t i = 0, end; i < s->count; i = end) {
		end = epoch_end(s, i);
		has_uneven |= is_uneven(&s->segments[i], end - i);
		for (size_t k = i; k < end; k++)
			pieces += s->segments[k].pieces;
	}
	return pieces > 0 &&
	       (s->candidate->kind != STEP_LOCK || (has_uneven && works_in_pieces(s, pieces)));
}

/* By all that they took. */
static bool is_believed(const struct search *s)
{
	size_t with_pieces = 0, dry = 0;
	for (size_t i = 0, end; i < s->count; i = end) {
		const struct segment *segments = &s->segments[i];
		end = epoch_end(s, i);
		if (i > 0 && segments->order < segments[-1].order)
			return false;
		bool has_pieces = end - i > s->takers; /* each has one bound segment in it */
		with_pieces += has_pieces;
		dry += has_pieces && ran_dry(segments, end - i);
	}
	return s->candidate->kind != STEP_LOCK || 4 * dry >= 3 * with_pieces;
}

static int add_pieces(struct search *s, struct supply *supply)
{
	supply->pieces = calloc(s->count + 1, sizeof *supply->pieces);
	supply->epoch_ends = calloc((size_t)s->epochs + 1, sizeof *supply->epoch_ends);
	if (!supply->pieces || !supply->epoch_ends)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++) {
		const struct segment *segment = &s->segments[i];
		struct load_thread *thread = &s->replay->threads[segment->thread];
		if (!thread->bounds)
			thread->bounds = calloc((size_t)s->epochs + 1, sizeof *thread->bounds);
		if (!thread->bounds)
			return -ENOMEM;
		if (segment->is_bound)
			thread->bounds[segment->epoch] = segment->from;
		else
			supply->pieces[supply->piece_count++] =
				(struct supply_piece){ segment->thread, segment->from };
		supply->epoch_ends[segment->epoch] = supply->piece_count;
	}
	return 0;
}

static int accept(struct search *s)
{
	struct replay *replay = s->replay;
	const struct candidate *c = s->candidate;
	if (mem_grow(&replay->supplies, &replay->supply_capacity, replay->supply_count + 1,
		    sizeof *replay->supplies) < 0)
		return -ENOMEM;
	struct supply *supply = &replay->supplies[replay->supply_count++];
	*supply = (struct supply){
		.object = c->object, .site = c->site, .kind = c->kind, .epoch_count = s->epochs
	};
	for (size_t i = 0; i < s->count; i++)
		replay->threads[s->segments[i].thread].supply = (uint32_t)replay->supply_count;
	replay->objects[c->object].supply = (uint32_t)replay->supply_count;
	replay->facts.supplies++;
	replay->deals_anew = true;
	int code = add_pieces(s, supply);
	replay->facts.dealt += supply->piece_count;
	return code;
}

static int collect_all(struct search *s)
{
	int code = 0;
	for (uint32_t i = 0; code == 0 && i < s->replay->thread_count && !s->is_refuted; i++)
		code = collect(s, i);
	if (code == 0 && s->count > 0)
		qsort(s->segments, s->count, sizeof *s->segments, by_order);
	return code;
}

/* First without the pieces, of which there may be many. */
static int try_candidate(struct replay *replay, const struct candidate *candidate)
{
	struct search ends = { .replay = replay, .candidate = candidate };
	struct search all = { .replay = replay, .candidate = candidate, .keeps_pieces = true };
	int code = collect_all(&ends);
	bool is_worth_it = code == 0 && !ends.is_refuted && is_likely(&ends);
	free(ends.segments);
	if (!is_worth_it)
		return code;
	code = collect_all(&all);
	if (code == 0 && is_believed(&all))
		code = accept(&all);
	free(all.segments);
	return code;
}

int supplies_find(struct replay *replay)
{
	AUTO_FREE struct candidate *candidates = NULL;
	size_t count = 0, tried = 0;
	int code = find_candidates(replay, &candidates, &count);
	if (code == 0 && count > 0)
		qsort(candidates, count, sizeof *candidates, by_preference);
	for (size_t i = 0; code == 0 && i < count && tried < TRIED_MAX; i++) {
		const struct candidate *c = &candidates[i];
		if (c->takers < 2 || c->takes < TAKES_LEAST || c->is_mixed)
			continue;
		tried++;
		code = try_candidate(replay, c);
	}
	return code;
}
