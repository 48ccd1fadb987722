/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pieces of work from a common supply (replay_supply.c), dealt to whoever asks next, in the order in which they were taken in
 * the recording. Who finds none left goes on with its own list, where it found none then.
 */
#include "model/replay_player.h"

/* NULL: its work is its own. */
static const struct supply *supply_of(const struct player *player, uint32_t index)
{
	uint32_t supply = player->replay->threads[index].supply;
	return supply > 0 && !player->replay->keeps_shares ? &player->replay->supplies[supply - 1]
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
	return supply > 0 && !replay->keeps_shares &&
	       player->dealt[supply - 1] == replay->supplies[supply - 1].piece_count;
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
		thread->list = piece->thread;
		thread->at = piece->from;
		return;
	}
	thread->list = index;
	thread->at = player->replay->threads[index].bounds[thread->epoch++];
}
