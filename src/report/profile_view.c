/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/profile_view.h"

#include <math.h>

static const double ASKING_NOTICEABLE = 0.05;

struct profile_totals profile_totals_of(const struct profile *profile, ptrdiff_t thread)
{
	struct profile_totals totals = { 0 };
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		if (thread >= 0 && class->thread != (size_t)thread)
			continue;
		totals.stretches += class->stretches;
		totals.instructions += class->instructions;
		totals.loads += class->loads;
		totals.stores += class->stores;
		totals.first_touches += class->first_touches;
		for (int j = 0; j < CODE_CLASSES; j++)
			totals.mix[j] += class->mix[j];
	}
	return totals;
}

size_t profile_mix_order(const struct profile_totals *totals, unsigned ret[CODE_CLASSES])
{
	size_t count = 0;
	for (unsigned i = 0; i < CODE_CLASSES; i++) {
		if (totals->mix[i] == 0)
			continue;
		size_t at = count++;
		for (; at > 0 && totals->mix[ret[at - 1]] < totals->mix[i]; at--)
			ret[at] = ret[at - 1];
		ret[at] = i;
	}
	return count;
}

void profile_add_asking(struct strbuf *out, const struct profile *profile)
{
	const struct profile_quality *q = &profile->quality;
	if (!*q->asking || q->asking_share < ASKING_NOTICEABLE)
		return;
	strbuf_addf(out,
		"%.0f%% of the instructions are of %s, which asks what the processor can do "
		"(CPUID): "
		"profiled is its code for one without AVX-512 and without instructions for SHA, as "
		"%s has it.\n",
		100 * q->asking_share, q->asking, q->backend);
}

void profile_add_unpaced(struct strbuf *out, const struct profile *profile)
{
	static const double NOTICEABLE = 0.01;
	double instructions = 0, unpaced = (double)profile->quality.unpaced;
	for (size_t i = 0; i < profile->class_count; i++)
		instructions += (double)profile->classes[i].instructions;
	if (unpaced > NOTICEABLE * instructions)
		strbuf_addf(out,
			"%.0f%% of the instructions were executed while another thread, which had "
			"no "
			"core, was far behind: who shared lines and work with whom is less sure.\n",
			100 * fmin(unpaced / instructions, 1));
}
