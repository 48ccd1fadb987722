/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/predictors.h"

#include "bench/refsim/tage.h"

#include <errno.h>
#include <stdlib.h>

enum { LEAST_BYTES = 1024, COUNTERS_PER_BYTE = 4, GSHARE_HISTORY_MAX = 16 };

/* Sizes of the Alpha's tables, for each KiB of the whole. */
enum { LOCAL_PER_KIB = 256, GLOBAL_PER_KIB = 1024, LOCAL_HISTORY = 10 };

struct branch_predictor {
	enum predictor_kind kind;
	uint64_t history;
	uint32_t mask; /* of `counters` and `choices` */
	uint32_t local_mask, local_counter_mask, history_mask;
	uint8_t *counters; /* 0 to 3; 2 and up: taken */
	uint8_t *choices; /* 2 and up: the global prediction */
	uint16_t *locals; /* histories */
	uint8_t *local_counters; /* 0 to 7 */
	struct tage *tage;
};

static uint32_t power_below(uint32_t n)
{
	return n ? UINT32_C(1) << (31 - __builtin_clz(n)) : 1;
}

static int tournament_init(struct branch_predictor *predictor, uint32_t kib)
{
	predictor->mask = GLOBAL_PER_KIB * kib - 1;
	predictor->local_mask = LOCAL_PER_KIB * kib - 1;
	predictor->local_counter_mask = (1 << LOCAL_HISTORY) * (kib > 4 ? kib / 4 : 1) - 1;
	predictor->history_mask = predictor->local_counter_mask;
	predictor->choices = calloc(predictor->mask + 1, 1);
	predictor->locals = calloc(predictor->local_mask + 1, sizeof(*predictor->locals));
	predictor->local_counters = calloc(predictor->local_counter_mask + 1, 1);
	return predictor->choices && predictor->locals && predictor->local_counters ? 0 : -ENOMEM;
}

static int predictor_init(struct branch_predictor *predictor, uint32_t bytes)
{
	if (predictor->kind == PREDICTOR_TAGE)
		return tage_new(bytes, &predictor->tage);
	predictor->mask = bytes * COUNTERS_PER_BYTE - 1;
	predictor->history_mask = predictor->mask & ((1 << GSHARE_HISTORY_MAX) - 1);
	int status = 0;
	if (predictor->kind == PREDICTOR_TOURNAMENT)
		status = tournament_init(predictor, bytes / LEAST_BYTES);
	predictor->counters = calloc(predictor->mask + 1, 1);
	return predictor->counters ? status : -ENOMEM;
}

int branch_predictor_new(enum predictor_kind kind, uint32_t bytes, struct branch_predictor **ret)
{
	AUTO(branch_predictor) struct branch_predictor *predictor = calloc(1, sizeof(*predictor));
	if (!predictor)
		return -ENOMEM;
	predictor->kind = kind;
	int status =
		predictor_init(predictor, power_below(bytes > LEAST_BYTES ? bytes : LEAST_BYTES));
	if (status < 0)
		return status;
	*ret = TAKE(predictor);
	return 0;
}

void branch_predictor_free(struct branch_predictor *predictor)
{
	if (!predictor)
		return;
	free(predictor->counters);
	free(predictor->choices);
	free(predictor->locals);
	free(predictor->local_counters);
	tage_free(predictor->tage);
	free(predictor);
}

static void learn(uint8_t *counter, bool up, uint8_t most)
{
	if (up && *counter < most)
		++*counter;
	else if (!up && *counter > 0)
		--*counter;
}

static bool use_counter(uint8_t *counter, bool is_taken)
{
	bool predicted = *counter >= 2;
	learn(counter, is_taken, 3);
	return predicted;
}

static bool use_local(struct branch_predictor *predictor, uint64_t address, bool is_taken)
{
	uint16_t *history = &predictor->locals[address & predictor->local_mask];
	uint8_t *counter = &predictor->local_counters[*history & predictor->local_counter_mask];
	bool predicted = *counter >= 4;
	learn(counter, is_taken, 7);
	*history = (uint16_t)((*history << 1 | is_taken) & predictor->history_mask);
	return predicted;
}

static bool use_tournament(struct branch_predictor *predictor, uint64_t address, bool is_taken)
{
	uint32_t at = (uint32_t)predictor->history & predictor->mask;
	bool local = use_local(predictor, address, is_taken);
	bool global = use_counter(&predictor->counters[at], is_taken);
	bool takes_global = predictor->choices[at] >= 2;
	if (local != global)
		learn(&predictor->choices[at], global == is_taken, 3);
	return takes_global ? global : local;
}

bool branch_predictor_predict(void *context, uint64_t address, bool is_taken)
{
	struct branch_predictor *predictor = context;
	uint32_t at = (uint32_t)address & predictor->mask;
	bool predicted = is_taken;
	switch (predictor->kind) {
	case PREDICTOR_BIMODAL:
		predicted = use_counter(&predictor->counters[at], is_taken);
		break;
	case PREDICTOR_GSHARE:
		at ^= (uint32_t)predictor->history & predictor->history_mask;
		predicted = use_counter(&predictor->counters[at], is_taken);
		break;
	case PREDICTOR_TOURNAMENT:
		predicted = use_tournament(predictor, address, is_taken);
		break;
	case PREDICTOR_TAGE:
		predicted = tage_predict(predictor->tage, address, is_taken);
		break;
	case PREDICTOR_PERFECT:
	case PREDICTOR_KINDS:
		break;
	}
	predictor->history = predictor->history << 1 | is_taken;
	return predicted == is_taken;
}
