/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/disk.h"

#include "base/mem.h"
#include "base/sorted.h"
#include "builder/disk_queue.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { LEAST = 20 }; /* requests from which something is concluded */

struct request {
	uint64_t queued_ns, begin_ns, end_ns; /* the latter two: at the device */
	struct build_step *step; /* NULL: the kernel told of it */
	double company; /* mean number in the device while it was there, itself included */
	size_t overtaken; /* how many it left behind in the device that came before it */
	double service_s; /* 0: not known from its queue */
	uint8_t class;
};

struct requests {
	struct request *items;
	size_t count;
};

void build_disk_release(struct build_disk *disk)
{
	for (size_t i = 0; i < REQUEST_CLASSES; i++)
		free(disk->services[i].items_s);
	*disk = (struct build_disk){ 0 };
}

const char *build_disk_class_name(enum request_class class)
{
	static const char *const names[REQUEST_CLASSES] = { [REQUEST_READ] = "read",
		[REQUEST_METADATA] = "metadata",
		[REQUEST_AHEAD] = "ahead",
		[REQUEST_WRITE] = "write" };
	return names[class];
}

static int collect_waits(struct build_trace *trace, struct requests *ret)
{
	size_t capacity = 0;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			struct build_step *step = &trace->threads[i].steps[j];
			if (step->op != STEP_IO || step->count != EVENT_IO_FILE)
				continue;
			if (mem_grow(&ret->items, &capacity, ret->count + 1, sizeof *ret->items) <
				0)
				return -ENOMEM;
			uint64_t cpu_ns = step->section < step->waited_ns ? step->section : 0;
			ret->items[ret->count++] = (struct request){
				.queued_ns = step->begin_ns + cpu_ns,
				.begin_ns = step->begin_ns + cpu_ns,
				.end_ns = step->begin_ns + step->waited_ns,
				.step = step,
			};
		}
	return 0;
}

/* A request without a start of its own, a flush, went straight to the device. */
static int collect_requests(const struct build_trace *trace, struct requests *ret)
{
	ret->items = calloc(trace->request_count, sizeof *ret->items);
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < trace->request_count; i++) {
		const struct build_request *request = &trace->requests[i];
		if (request->end_ns == 0)
			continue;
		ret->items[ret->count++] = (struct request){ .queued_ns = request->queued_ns,
			.begin_ns = request->start_ns ? request->start_ns : request->queued_ns,
			.end_ns = request->end_ns,
			.class = request->class };
	}
	return 0;
}

/* One more or one less in the device; `area`: the integral of the number in it, until then. */
struct change {
	uint64_t time_ns;
	double area;
	struct request *request;
	int by;
};

static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->by - b->by; /* ends first */
}

static bool is_before(const void *change, const void *time_ns)
{
	return ((const struct change *)change)->time_ns < *(const uint64_t *)time_ns;
}

/* The integral until one of the moments of change. */
static double area_at(const struct change *changes, size_t count, uint64_t time_ns)
{
	size_t before = sorted_before(changes, count, sizeof *changes, is_before, &time_ns);
	return before < count ? changes[before].area : 0;
}

static double duration_s(const struct request *request)
{
	return (double)(request->end_ns - request->begin_ns) * 1e-9;
}

/*
 * Whom each request overtook. Ends that are closer together than a quarter of what the device takes for
 * one are of the same moment: in which order they are noticed says nothing.
 */
static int find_overtaken(
	const struct requests *requests, const struct change *changes, double busy_s)
{
	enum { SHORT = 4 };
	uint64_t short_ns = (uint64_t)(busy_s * 1e9 / (double)requests->count / SHORT);
	AUTO_FREE struct request **within = calloc(requests->count, sizeof *within);
	if (!within)
		return -ENOMEM;
	for (size_t i = 0, count = 0; i < 2 * requests->count; i++) {
		struct request *request = changes[i].request;
		if (changes[i].by > 0) {
			within[count++] = request;
			continue;
		}
		size_t kept = 0;
		for (size_t j = 0; j < count; j++) {
			request->overtaken += within[j]->begin_ns < request->begin_ns &&
					      within[j]->end_ns > request->end_ns + short_ns;
			if (within[j] != request)
				within[kept++] = within[j];
		}
		count = kept;
	}
	return 0;
}

/* Company of each request; when, and how often some request was under way. */
static int find_company(struct requests *requests, struct build_disk *ret)
{
	size_t count = 2 * requests->count;
	AUTO_FREE struct change *changes = calloc(count, sizeof *changes);
	if (!changes)
		return -ENOMEM;
	for (size_t i = 0; i < requests->count; i++) {
		struct request *request = &requests->items[i];
		changes[2 * i] = (struct change){
			.time_ns = request->begin_ns, .by = 1, .request = request
		};
		changes[2 * i + 1] =
			(struct change){ .time_ns = request->end_ns, .by = -1, .request = request };
	}
	qsort(changes, count, sizeof *changes, compare_changes);
	int within = 0;
	double busy_ns = 0;
	for (size_t i = 1; i < count; i++) {
		ret->busy_periods += within == 0;
		within += changes[i - 1].by;
		double time_ns = (double)(changes[i].time_ns - changes[i - 1].time_ns);
		changes[i].area = changes[i - 1].area + within * time_ns;
		busy_ns += within > 0 ? time_ns : 0;
	}
	ret->busy_s = busy_ns * 1e-9;
	for (size_t i = 0; i < requests->count; i++) {
		struct request *request = &requests->items[i];
		double took_ns = (double)(request->end_ns - request->begin_ns);
		double area = area_at(changes, count, request->end_ns) -
			      area_at(changes, count, request->begin_ns);
		request->company = took_ns > 0 && area > took_ns ? area / took_ns : 1;
	}
	return find_overtaken(requests, changes, ret->busy_s);
}

static int compare_company(const void *left, const void *right)
{
	const struct request *a = left, *b = right;
	return a->company < b->company ? -1 : a->company > b->company;
}

/*
 * How many the device serves at once, as the order of ends tells: who leaves n behind that came before was served beside them.
 * A few may be mistakes of the clock.
 */
static uint32_t side_by_side(const struct requests *requests)
{
	enum { FEW = 50 };
	uint32_t ret = 1;
	for (;; ret++) {
		size_t more = 0;
		for (size_t i = 0; i < requests->count; i++)
			more += requests->items[i].overtaken >= ret;
		if (more < LEAST || more < requests->count / FEW)
			return ret;
	}
}

/*
 * Whether one server that takes any of n that wait may have made these: how many are served before is geometrically
 * distributed then, and times deviate by sqrt(1 - 1 / n) of their mean or more (less a tenth, for there are not endlessly many).
 */
static bool may_be_drawn(const struct requests *requests)
{
	const double seen = 0.9;
	double n = (double)requests->count, sum_s = 0, squares = 0, company = 0;
	for (size_t i = 0; i < requests->count; i++) {
		double took_s = duration_s(&requests->items[i]);
		sum_s += took_s;
		squares += took_s * took_s;
		company += requests->items[i].company;
	}
	double mean_s = sum_s / n, deviation_s = sqrt(fmax(squares / n - mean_s * mean_s, 0));
	return deviation_s >= seen * sqrt(1 - n / company) * mean_s;
}

/* Those that were alone, and the quarter with the most company: means. */
struct extremes {
	size_t lone, crowd; /* how many */
	double lone_s, crowd_s;
	double share_s, company; /* of the crowd: how long each took over its company */
};

static struct extremes find_extremes(struct requests *requests)
{
	const double alone = 1.05;
	struct extremes ret = { .crowd = requests->count / 4 };
	qsort(requests->items, requests->count, sizeof *requests->items, compare_company);
	for (; ret.lone < requests->count && requests->items[ret.lone].company < alone; ret.lone++)
		ret.lone_s += duration_s(&requests->items[ret.lone]);
	for (size_t i = requests->count - ret.crowd; i < requests->count; i++) {
		const struct request *request = &requests->items[i];
		ret.crowd_s += duration_s(request) / (double)ret.crowd;
		ret.share_s += duration_s(request) / request->company / (double)ret.crowd;
		ret.company += request->company / (double)ret.crowd;
	}
	ret.lone_s /= (double)(ret.lone > 0 ? ret.lone : 1);
	return ret;
}

/*
 * The share of a request in the time of a busy device is how long it took, over its company. Where company
 * did not make them longer, or nobody was alone, the order tells how many servers there are; that is all of them if there was a queue.
 */
static void find_parallel(struct requests *requests, struct build_disk *ret)
{
	const double same = 1.1, queue = 1.5;
	struct extremes seen = find_extremes(requests);
	bool has_both = seen.lone >= LEAST && seen.crowd >= LEAST && seen.company >= queue;
	bool is_slowed = has_both && seen.crowd_s > same * seen.lone_s;
	ret->parallel = has_both && seen.share_s > 0 && seen.lone_s > 2 * seen.share_s
				? (uint32_t)(seen.lone_s / seen.share_s)
				: 1;
	ret->is_guessed = !is_slowed;
	if (!is_slowed && (has_both || !may_be_drawn(requests))) {
		ret->parallel = (uint32_t)fmax(ret->parallel, side_by_side(requests));
		ret->is_guessed = ret->parallel == 1 || seen.company < queue * ret->parallel;
	}
	if (is_slowed)
		ret->latency_s = fmax(seen.lone_s - ret->parallel * seen.share_s, 0);
}

static int compare_ends(const void *left, const void *right)
{
	const struct request *a = left, *b = right;
	return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/*
 * The order in which one server takes its queue. First come, first served: nobody ends before who came before, however
 * long services are; some seem to, when ends are noticed late. Where most end together with the one before, they were served together. Who is
 * overtaken although requests end one by one waits for its turn in another order.
 */
static enum sim_disk_order find_order(struct requests *requests, double service_s)
{
	enum { OVERTAKES_LEAST = 10, TOGETHER_LEAST = 2, SHORT = 4 };
	size_t overtakes = 0, leaves = 0, together = 0, count = requests->count;
	uint64_t short_ns = (uint64_t)(service_s * 1e9 / SHORT), oldest_ns = UINT64_MAX;
	const struct request *next = NULL;
	qsort(requests->items, count, sizeof *requests->items, compare_ends);
	/* From the last end backwards, with the earliest begin of those that end later. */
	for (size_t i = count; i-- > 0;) {
		const struct request *request = &requests->items[i];
		if (next && next->begin_ns < request->end_ns) {
			leaves++;
			together += next->end_ns - request->end_ns < short_ns;
			overtakes += oldest_ns < request->queued_ns;
		}
		oldest_ns = oldest_ns < request->queued_ns ? oldest_ns : request->queued_ns;
		next = request;
	}
	if (leaves >= LEAST && together * TOGETHER_LEAST >= leaves)
		return SIM_DISK_BATCH;
	bool is_in_order = leaves < LEAST || overtakes * OVERTAKES_LEAST < leaves;
	return is_in_order ? SIM_DISK_FIFO : SIM_DISK_RANDOM;
}

/* One server is busy while anybody is there, but for the latency of the last: its services sum up to that. */
static void scale_services(struct build_disk *disk)
{
	double sum_s = 0, busy_s = disk->busy_s - (double)disk->busy_periods * disk->latency_s;
	for (size_t i = 0; i < REQUEST_CLASSES; i++)
		for (size_t j = 0; j < disk->services[i].count; j++)
			sum_s += disk->services[i].items_s[j];
	for (size_t i = 0; i < REQUEST_CLASSES && sum_s > 0 && busy_s > 0; i++)
		for (size_t j = 0; j < disk->services[i].count; j++)
			disk->services[i].items_s[j] *= busy_s / sum_s;
}

static int add_service(struct build_services *services, double service_s)
{
	if (mem_grow(&services->items_s, &services->capacity, services->count + 1,
		    sizeof *services->items_s) < 0)
		return -ENOMEM;
	services->items_s[services->count++] = service_s;
	return 0;
}

static double service_of(const struct request *request, const struct build_disk *disk)
{
	double took_s = duration_s(request);
	if (request->service_s > 0)
		return request->service_s;
	if (request->company > disk->parallel)
		return took_s * disk->parallel / request->company;
	return took_s > disk->latency_s ? took_s - disk->latency_s : 0;
}

static int compare_begins(const void *left, const void *right)
{
	const struct request *a = left, *b = right;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Of servers side by side, which were busy. */
static int find_services(struct requests *requests, struct build_disk *ret)
{
	AUTO_FREE struct build_served *served = calloc(requests->count, sizeof *served);
	if (!served)
		return -ENOMEM;
	qsort(requests->items, requests->count, sizeof *requests->items, compare_begins);
	for (size_t i = 0; i < requests->count; i++)
		served[i] = (struct build_served){ .begin_ns = requests->items[i].begin_ns,
			.end_ns = requests->items[i].end_ns };
	int code = build_disk_unqueue(served, requests->count, ret->parallel, &ret->latency_s);
	for (size_t i = 0; i < requests->count && code == 0; i++)
		requests->items[i].service_s = served[i].service_s;
	return code == -EDOM ? 0 : code;
}

static int add_disk(struct build_trace *trace, uint32_t *ret)
{
	return build_add_object(
		trace, (struct build_object){ .what = WHAT_DISK, .name = "disk" }, ret);
}

/* Tells service and latency apart, and makes waits requests. */
static int divide(struct requests *requests, struct build_disk *ret)
{
	int code = find_company(requests, ret);
	if (code < 0)
		return code;
	find_parallel(requests, ret);
	if (ret->parallel > 1 && ret->latency_s == 0 && !ret->is_guessed)
		code = find_services(requests, ret);
	for (size_t i = 0; i < requests->count && code == 0; i++) {
		const struct request *request = &requests->items[i];
		code = add_service(&ret->services[request->class], service_of(request, ret));
		if (!request->step)
			continue;
		request->step->op = STEP_DISK;
		request->step->object = ret->object;
		request->step->count = 1;
	}
	if (ret->parallel == 1 && code == 0) {
		scale_services(ret);
		ret->order = find_order(requests, ret->busy_s / (double)requests->count);
	}
	return code;
}

/* Calls on files that found all in the page cache, of a run in which no request was seen. */
static void leave_out_hits(struct build_thread *thread)
{
	struct build_rewrite rewrite = { .thread = thread };
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step step = thread->steps[i];
		if (step.op == STEP_IO && !build_has_blocked(&step))
			rewrite_leave_out(&rewrite, step);
		else
			rewrite_keep(&rewrite, step);
	}
	rewrite_end(&rewrite);
}

int build_disk_find(struct build_trace *trace, struct build_disk *ret)
{
	struct requests requests = { 0 };
	bool is_told = trace->request_count > 0;
	ret->object = BUILD_NONE;
	for (size_t i = 0; i < trace->thread_count && !is_told; i++)
		leave_out_hits(&trace->threads[i]);
	int code = is_told ? collect_requests(trace, &requests) : collect_waits(trace, &requests);
	if (code == 0 && requests.count > 0)
		code = add_disk(trace, &ret->object);
	if (code == 0 && requests.count > 0 && is_told)
		code = build_disk_place(trace, ret->object);
	if (code == 0 && requests.count > 0)
		code = divide(&requests, ret);
	free(requests.items);
	return code;
}
