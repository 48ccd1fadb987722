/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is lent when nothing else can happen: see sim_set_lending(). */
#include "sim/engine.h"

#include <errno.h>

static struct lender *find_lender(struct sim *sim, enum sim_object_kind kind, uint32_t object)
{
	if (kind == SIM_QUEUE && object < sim->queues.count)
		return &sim->queues.all[object].lender;
	if (kind == SIM_SEM && object < sim->sems.count)
		return &sim->sems.all[object].lender;
	if (kind == SIM_LIMIT && object < sim->limits.count)
		return &sim->limits.all[object].lender;
	return NULL;
}

int sim_set_lending(struct sim *sim, enum sim_object_kind kind, uint32_t object, uint32_t of)
{
	struct lender *lender = find_lender(sim, kind, object);
	if (!lender)
		return -EINVAL;
	lender->lends = true;
	lender->of = of;
	return 0;
}

/* Not more than was really taken, and one for each thread: who only lives on that goes round and round. */
static bool can_lend(const struct sim *sim, const struct lender *lender)
{
	uint64_t own = lender->taken > lender->lent ? lender->taken - lender->lent : 0;
	return lender->lends && (lender->of == 0 || lender->lent < sim->thread_count + own);
}

bool lender_lends(const struct sim *sim, struct lender *lender)
{
	bool lends = can_lend(sim, lender);
	lender->lent += lends;
	return lends;
}

/* Beyond one for each thread and one of `of`. */
static uint64_t beyond_few(const struct sim *sim, const struct lender *lender)
{
	uint64_t few = lender->of ? sim->thread_count + lender->taken / lender->of : UINT64_MAX;
	return lender->lent > few ? lender->lent - few : 0;
}

uint64_t sim_lent_beyond_few(const struct sim *sim)
{
	uint64_t count = 0;
	for (uint32_t i = 0; i < sim->queues.count; i++)
		count += beyond_few(sim, &sim->queues.all[i].lender);
	for (uint32_t i = 0; i < sim->sems.count; i++)
		count += beyond_few(sim, &sim->sems.all[i].lender);
	for (uint32_t i = 0; i < sim->limits.count; i++)
		count += beyond_few(sim, &sim->limits.all[i].lender);
	return count;
}

/* Whether somebody waits and there is a loan for it, which is then counted. */
static bool take_loan(const struct sim *sim, const struct waiters *waiting, struct lender *lender)
{
	if (!waiting->head || !can_lend(sim, lender))
		return false;
	lender->lent++;
	return true;
}

static int lend_item(struct sim *sim, struct queue *queue)
{
	if (!take_loan(sim, &queue->getters, &queue->lender))
		return 0;
	int code = queue_put(sim, queue, 0, 0);
	return code < 0 ? code : 1;
}

static int lend_unit(struct sim *sim, struct sem *sem)
{
	if (!take_loan(sim, &sem->waiters, &sem->lender))
		return 0;
	sem->value++;
	int code = wake_first(sim, &sem->waiters, 0);
	return code < 0 ? code : 1;
}

/* The oldest item is left out. */
static int lend_room(struct sim *sim, struct queue *queue)
{
	if (!take_loan(sim, &queue->putters, &queue->lender))
		return 0;
	queue_drop_first(sim, queue);
	int code = wake_first(sim, &queue->putters, 0);
	return code < 0 ? code : 1;
}

int lend(struct sim *sim)
{
	int code = 0;
	for (uint32_t i = 0; i < sim->queues.count && code == 0; i++)
		code = lend_item(sim, &sim->queues.all[i]);
	for (uint32_t i = 0; i < sim->sems.count && code == 0; i++)
		code = lend_unit(sim, &sim->sems.all[i]);
	for (uint32_t i = 0; i < sim->queues.count && code == 0; i++)
		code = lend_room(sim, &sim->queues.all[i]);
	return code;
}
