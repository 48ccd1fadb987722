/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pieces of work from a common supply (supply.c), dealt to whoever asks next, in the order in which they were taken in
 * the recording. Who finds none left goes on with its own list, where it found none then. Work that is shared out without
 * an event (pool.c) is dealt in small parts.
 */
#include "replay/player.h"

/* NULL: its work is its own. */
static const struct supply *supply_of(const struct player *player, uint32_t index)
{
	uint32_t supply = player->replay->threads[index].supply;
	return supply > 0 && player->replay->deals_anew ? &player->replay->supplies[supply - 1]
							: NULL;
}

static bool is_left(const struct player *player, const struct supply *supply, uint32_t epoch)
{
	size_t next = player->dealt[supply - player->replay->supplies];
	return epoch < supply->epoch_count && next < supply->epoch_ends[epoch];
}

static bool takes(const struct supply *supply, const struct step *step)
{
	return supply && supply_is_take(supply->kind, supply->object, supply->site, step);
}

bool deal_is_refused(const struct player *player, uint32_t index, const struct step *step)
{
	const struct supply *supply = supply_of(player, index);
	const struct load_thread *loaded = &player->replay->threads[index];
	uint32_t epoch = player->threads[index].epoch;
	if (!takes(supply, step))
		return step->is_refused;
	return !is_left(player, supply, epoch) && epoch < supply->epoch_count &&
	       loaded->steps[loaded->bounds[epoch] - 1].is_refused;
}

bool deal_is_over(const struct player *player, uint32_t object)
{
	const struct replay *replay = player->replay;
	uint32_t supply = replay->objects[object].supply;
	return supply > 0 && replay->deals_anew &&
	       player->dealt[supply - 1] == replay->supplies[supply - 1].piece_count;
}

/* Tells who asks where a thread goes on. */
static void move_to(struct player *player, uint32_t index, uint32_t list, size_t at)
{
	const struct step *steps = player->replay->threads[list].steps;
	struct play_progress *progress = &player->progress[list];
	player->threads[index].list = list;
	player->threads[index].at = at;
	if (!player->run->moves)
		return;
	if (at < progress->at)
		*progress = (struct play_progress){ 0 };
	for (; progress->at < at; progress->at++)
		progress->work += steps[progress->at].work_ns;
	player->run->moves(player->run->duration_context, index, list, progress->work);
}

void deal_next(struct player *player, uint32_t index, const struct step *step)
{
	const struct supply *supply = supply_of(player, index);
	struct play_thread *thread = &player->threads[index];
	if (!takes(supply, step) || thread->epoch >= supply->epoch_count)
		return;
	if (is_left(player, supply, thread->epoch)) {
		const struct supply_piece *piece =
			&supply->pieces[player->dealt[supply - player->replay->supplies]++];
		move_to(player, index, piece->thread, piece->from);
		return;
	}
	move_to(player, index, index, player->replay->threads[index].bounds[thread->epoch++]);
}

/* The pool of a thread's step, plus one. */
static size_t pool_of(const struct player *player, uint32_t index, const struct step *step)
{
	const struct play_thread *thread = &player->threads[index];
	if (!step->is_pooled || !player->replay->deals_anew)
		return 0;
	const uint64_t *place = map_find(&player->replay->pooled, thread->list, thread->at);
	return place ? (size_t)*place + 1 : 0;
}

void deal_begin(struct player *player, uint32_t index, const struct step *step)
{
	struct play_thread *thread = &player->threads[index];
	thread->pool = pool_of(player, index, step);
	thread->work = thread->pool ? player->pool_left_ns[thread->pool - 1] : step->work_ns;
}

uint64_t deal_part(struct player *player, uint32_t index)
{
	struct play_thread *thread = &player->threads[index];
	uint64_t *left_ns = &player->pool_left_ns[thread->pool - 1];
	uint64_t most_ns = player->replay->pools[thread->pool - 1].part_ns;
	uint64_t part_ns = *left_ns < most_ns ? *left_ns : most_ns;
	*left_ns -= part_ns;
	thread->work = *left_ns;
	return part_ns;
}
