/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads hand to one another. An item is the number of a request, or what it carries instead: a request that a thread began itself has a bit and the
 * time of its begin, one without a request who asked for what it stands for.
 */
#include "base/mem.h"
#include "model/graph_parts.h"

#include <errno.h>
#include <string.h>

#define OWN_REQUEST (UINT64_C(1) << 63)
#define ASKED (UINT64_C(1) << 62) /* by the thread of that number in its group */

bool items_begin(struct graph *graph, struct walker *walker, struct sim_op *ret)
{
	if (walker->request != NO_REQUEST && !(walker->request & OWN_REQUEST)) {
		uint64_t *begin_ns;
		int code = map_add(&graph->restarts, walker->request, 0, 0, &begin_ns);
		if (code < 0)
			graph->failure = code;
		else
			*begin_ns = sim_now(graph->sim);
		return false;
	}
	walker->request = OWN_REQUEST | sim_now(graph->sim);
	graph->begun++;
	ret->item = walker->request;
	return true;
}

void items_leave(struct walker *walker)
{
	bool has_more = walker->other_first < walker->other_count;
	walker->request = has_more ? walker->others[walker->other_first++] : (uint64_t)NO_REQUEST;
}

/* What a get brought: behind what the thread still has of the one before, which it ends or hands on first. */
static int take_request(struct graph *graph, struct walker *walker, bool is_first, uint64_t request)
{
	graph->piled_up += is_first && walker->request != NO_REQUEST;
	if (walker->request & OWN_REQUEST)
		walker->request = NO_REQUEST; /* of its own it has one at a time */
	if (walker->request == NO_REQUEST) {
		walker->request = request;
		return 0;
	}
	if (walker->other_first > 0 && 2 * walker->other_first >= walker->other_count) {
		walker->other_count -= walker->other_first;
		memmove(walker->others, walker->others + walker->other_first,
			walker->other_count * sizeof *walker->others);
		walker->other_first = 0;
	}
	if (mem_grow(&walker->others, &walker->other_capacity, walker->other_count + 1,
		    sizeof *walker->others) < 0)
		return -ENOMEM;
	walker->others[walker->other_count++] = request;
	return 0;
}

void items_end(struct graph *graph, struct walker *walker, int status, struct sim_op *ret)
{
	ret->item = walker->request;
	ret->amount = (uint64_t)status;
	if (walker->request & OWN_REQUEST) {
		uint64_t begin_ns = walker->request & ~OWN_REQUEST;
		graph_count_end(graph, graph_seconds(sim_now(graph->sim) - begin_ns), status);
	}
	items_leave(walker);
}

/* Where nobody did, as who is given work before it has asked for any, each instance gets one in turn. */
uint32_t items_reply_to(struct walker *walker, const struct graph_fragment *fragment)
{
	uint64_t number = walker->asked ? walker->asked & ~ASKED : walker->unasked++;
	return fragment->object + (uint32_t)(number % fragment->instances);
}

uint64_t items_to_put(const struct graph *graph, const struct walker *walker,
	const struct graph_fragment *fragment)
{
	if (!fragment->is_plain && walker->request != NO_REQUEST)
		return walker->request;
	if (!graph->has_replies || fragment->is_reply)
		return NO_REQUEST;
	return graph->groups[walker->group].asks ? ASKED | walker->number : walker->asked;
}

uint64_t items_called(struct graph *graph, const struct graph_fragment *fragment)
{
	uint64_t waiting = sim_waiting_for(graph->sim, fragment->object);
	uint64_t count = fragment->is_for_all ? waiting : graph_draw_count(graph, &fragment->count);
	return count < waiting ? count : waiting;
}

int items_hand_on(struct graph *graph, struct walker *walker, uint32_t tid)
{
	uint64_t request = walker->request, *slot;
	items_leave(walker);
	if (request == NO_REQUEST)
		return 0;
	if (tid <= graph->walker_count && graph->walkers[tid - 1].is_ready) {
		graph->walkers[tid - 1].request = request;
		return 0;
	}
	int code = map_add(&graph->handed_on, tid, 0, request, &slot);
	return code < 0 ? code : 0;
}

int items_take(struct graph *graph, struct walker *walker, const struct graph_fragment *fragment,
	uint64_t item)
{
	if (item == NO_REQUEST)
		return 0;
	if (item & OWN_REQUEST || !(item & ASKED))
		return take_request(
			graph, walker, fragment->op == MODEL_TRY_GET || walker->taken == 0, item);
	if (!fragment->is_reply)
		walker->asked = item;
	return 0;
}

bool items_pile_up(const struct graph *graph)
{
	enum { PILED_UP_MAX = 1000 };
	return graph->piled_up >= PILED_UP_MAX &&
	       graph->tally[GRAPH_SERVED] + graph->tally[GRAPH_FAILED] == 0;
}
