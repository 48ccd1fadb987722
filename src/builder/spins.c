/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/spins.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

/* With fewer samples where threads spin their share of the CPU time is not known. */
enum { SPINS_LEAST = 5 };

void build_spins_release(struct build_spins *spins)
{
	free(spins->places);
	*spins = (struct build_spins){ 0 };
}

static struct build_spin *place_of(struct build_spins *spins, uint32_t pid, uint64_t site)
{
	for (size_t i = 0; i < spins->count; i++)
		if (spins->places[i].pid == pid && spins->places[i].site == site)
			return &spins->places[i];
	if (mem_grow(&spins->places, &spins->capacity, spins->count + 1, sizeof *spins->places) < 0)
		return NULL;
	spins->places[spins->count] = (struct build_spin){ .pid = pid, .site = site };
	return &spins->places[spins->count++];
}

int build_spins_add(struct build_spins *spins, const struct event *sample, bool is_waiting)
{
	spins->samples++;
	if (sample->value == 0 || is_waiting)
		return 0;
	struct build_spin *place = place_of(spins, sample->pid, sample->value);
	if (!place)
		return -ENOMEM;
	place->samples++;
	spins->spinning++;
	return 0;
}

double build_spins_share(const struct build_spins *spins, const struct build_spin **ret_most)
{
	const struct build_spin *most = NULL;
	for (size_t i = 0; i < spins->count; i++)
		if (!most || spins->places[i].samples > most->samples)
			most = &spins->places[i];
	if (spins->spinning < SPINS_LEAST)
		return 0;
	*ret_most = most;
	return (double)spins->spinning / (double)spins->samples;
}
