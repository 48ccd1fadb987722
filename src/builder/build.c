/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/build.h"

#include "base/order.h"
#include "builder/parts.h"
#include "builder/patience.h"

#include <errno.h>
#include <stdlib.h>

int build_new(const struct build_opts *opts, struct build **ret)
{
	struct build *build = calloc(1, sizeof *build);
	if (!build || meaning_new(&build->meaning) < 0) {
		free(build);
		return -ENOMEM;
	}
	build->opts = *opts;
	if (wakes_new(opts->cores, &opts->wakes, &opts->others, &build->trace.wakes) < 0) {
		build_free(build);
		return -ENOMEM;
	}
	*ret = build;
	return 0;
}

void build_free(struct build *build)
{
	if (!build)
		return;
	for (size_t i = 0; build->graphs && i < build->groups.count; i++)
		build_graph_release(&build->graphs[i]);
	free(build->graphs);
	free(build->objects);
	free(build->pools);
	build_groups_release(&build->groups);
	build_channels_release(&build->channels);
	build_requests_release(&build->requests);
	build_disk_release(&build->disk);
	build_trace_release(&build->trace);
	meaning_free(build->meaning);
	model_free(build->model);
	free(build);
}

static int add_event(void *context, const struct event *event, struct err *err)
{
	struct build *build = context;
	struct event_sink meaning = meaning_sink(build->meaning);
	struct event_sink trace = build_trace_sink(&build->trace);
	int code = sink_event(&meaning, event, err);
	return code < 0 ? code : sink_event(&trace, event, err);
}

static int finish(void *context, uint64_t end_ns, struct err *err)
{
	struct build *build = context;
	struct event_sink meaning = meaning_sink(build->meaning);
	struct event_sink trace = build_trace_sink(&build->trace);
	int code = sink_finish(&meaning, end_ns, err);
	return code < 0 ? code : sink_finish(&trace, end_ns, err);
}

struct event_sink build_sink(struct build *build)
{
	return (struct event_sink){ .context = build, .event = add_event, .finish = finish };
}

static int add_parameters(struct build *build)
{
	uint32_t cores;
	int code = model_add_parameter(build->model, "cores", &cores);
	if (code < 0)
		return code;
	build->model->parameters[cores].value = build->opts.cores;
	build->model->parameters[cores].note = "of the machine; 0: one for each thread";
	code = build_pools_find(&build->trace, &build->groups, build->model, &build->pools);
	return code < 0 ? code
			: build_formula(build->model, &build->model->hardware.cores, "cores");
}

static int add_groups(struct build *build)
{
	int code = 0;
	build->graphs = calloc(build->groups.count + 1, sizeof *build->graphs);
	if (!build->graphs)
		return -ENOMEM;
	for (uint32_t i = 0; i < build->groups.count && code == 0; i++) {
		uint32_t group;
		code = model_add_group(build->model, build->groups.items[i].name, &group);
		if (code < 0)
			return code;
		build->model->groups[group].count.value = build->groups.items[i].first_count;
		code = build_graph_make(&build->trace, &build->groups.items[i],
			build->opts.conds == BUILD_IN_ORDER, &build->graphs[i]);
	}
	return code;
}

static double median(double *values, size_t count)
{
	if (count == 0)
		return 0;
	order_doubles(values, count);
	return values[count / 2];
}

/* Clients that wait for answers: how many, and what they think, can be set. */
static int add_clients(struct build *build)
{
	struct build_requests *requests = &build->requests;
	uint32_t clients = 0, think = 0, source = 0;
	double sum = 0;
	for (size_t i = 0; i < requests->thinking_count; i++)
		sum += requests->thinking_s[i];
	double mean = sum / (double)requests->thinking_count;
	if (!(mean > 1e-9))
		mean = 1e-9; /* what a clock of ns can tell: draws are scaled by it */
	int code = model_add_parameter(build->model, "clients", &clients);
	if (code == 0)
		code = model_add_parameter(build->model, "think", &think);
	if (code == 0)
		code = model_add_source(build->model, "clients", &source);
	if (code < 0)
		return code;
	build->model->parameters[clients].value = requests->clients;
	build->model->parameters[clients].note =
		requests->are_over ? "connections, each with one request at a time"
				   : "that wait for their answers";
	build->model->parameters[think].unit = MODEL_TIME;
	build->model->parameters[think].value = mean;
	build->model->parameters[think].note = "mean time from an answer to the next request";
	struct model_source *added = &build->model->sources[source];
	added->kind = MODEL_CLOSED;
	added->queue = build->objects[requests->arrivals];
	code = build_formula(build->model, &added->clients, "clients");
	if (code == 0 && requests->stay)
		code = build_own_instances(
			build, requests->arrivals, &build->model->objects[added->queue]);
	if (code == 0)
		code = build_dist(build->model, requests->thinking_s, requests->thinking_count,
			&added->interval);
	return code < 0 ? code
			: build_formula(
				  build->model, &added->interval.scale, "think / %.17g s", mean);
}

/*
 * Arrivals: Poisson if the intervals spread as exponential ones do (squared coefficient of variation 1,
 * of n of them within 3 / sqrt(n) * 2.83: that of an exponential sample's), else as seen, stretched. Those that
 * had to wait for a descriptor came in bursts, whenever one was free: they are taken to be Poisson.
 */
static int add_source(struct build *build)
{
	struct build_requests *requests = &build->requests;
	uint32_t rate = 0, source = 0;
	size_t count = requests->interval_count;
	if (requests->arrivals == BUILD_NONE || count < 2)
		return 0;
	if (requests->clients > 0 && requests->thinking_count > 0)
		return add_clients(build);
	double sum = 0, squares = 0;
	for (size_t i = 0; i < count; i++) {
		sum += requests->intervals_s[i];
		squares += requests->intervals_s[i] * requests->intervals_s[i];
	}
	double mean = sum / (double)count;
	double spread = squares / (double)count / (mean * mean) - 1;
	int code = model_add_parameter(build->model, "rate", &rate);
	if (code == 0)
		code = model_add_source(build->model, "clients", &source);
	if (code < 0)
		return code;
	build->model->parameters[rate].unit = MODEL_RATE;
	build->model->parameters[rate].value = 1 / mean;
	build->model->parameters[rate].note = "requests that arrive";
	struct model_source *clients = &build->model->sources[source];
	clients->queue = build->objects[requests->arrivals];
	if (build->has_limit || (spread - 1) * (spread - 1) * (double)count < 72) {
		clients->kind = MODEL_POISSON;
		return build_formula(build->model, &clients->rate, "rate");
	}
	clients->kind = MODEL_INTERVALS;
	code = build_dist(build->model, requests->intervals_s, count, &clients->interval);
	return code < 0 ? code
			: build_formula(build->model, &clients->interval.scale, "%.17g /s / rate",
				  1 / mean);
}

/* From a wake-up to running; 0: not known. */
static uint64_t wake_latency(const struct build *build)
{
	return build->woken.latency_ns ? build->woken.latency_ns : build->opts.wakes.latency_ns;
}

/* What the simulated processor adds to waits. */
static int set_waiting_costs(struct build *build)
{
	struct model_hardware *hardware = &build->model->hardware;
	double *quantiles = model_alloc(build->model, WAKES_PARTS, sizeof *quantiles);
	if (!quantiles)
		return -ENOMEM;
	hardware->switch_time.value =
		median(build->trace.wait_costs_s, build->trace.wait_cost_count);
	for (size_t i = 0; i < WAKES_PARTS; i++)
		quantiles[i] = build->woken.parts_ns[i] * 1e-9;
	if (build->woken.latency_ns > 0)
		hardware->wake = (struct model_dist){ .kind = MODEL_QUANTILES,
			.quantiles = quantiles,
			.quantile_count = WAKES_PARTS };
	else if (build->opts.wakes.latency_ns > 0)
		hardware->wake = (struct model_dist){ .kind = MODEL_FIXED,
			.a.value = (double)build->opts.wakes.latency_ns * 1e-9 };
	hardware->wake_cost.value = (double)build->woken.cost_ns * 1e-9;
	hardware->doze_time.value = (double)build->opts.wakes.doze_ns * 1e-9;
	return 0;
}

/* How long a run would have taken that took `span_s` while it was recorded. Who computed alone was held up for as long as that took. */
static double unrecorded_s(const struct build *build, double span_s)
{
	double left_s = (double)build_trace_cpu_ns(&build->trace) * 1e-9;
	double all_s = left_s / (1 - build->cost_share);
	if (build->opts.took_s > 0 || all_s > span_s)
		return span_s * (1 - build->cost_share);
	return span_s - (all_s - left_s);
}

static int describe_run(struct build *build)
{
	struct model_recorded *recorded = &build->model->recorded;
	double span_s = (double)(build->trace.end_ns - build->trace.start_ns) * 1e-9;
	const struct build_requests *requests = &build->requests;
	recorded->is_known = true;
	if (requests->arrivals != BUILD_NONE &&
		requests->throughput_per_s > 0) /* not before and after the load */
		span_s = (double)requests->ended / requests->throughput_per_s;
	else if (build->cost_share > 0)
		span_s = unrecorded_s(build, span_s);
	recorded->duration_s = span_s;
	recorded->cores = build->opts.cores;
	if (span_s > 0 && build->opts.cores > 0)
		recorded->core_utilisation = (double)build_trace_cpu_ns(&build->trace) * 1e-9 /
					     (span_s * build->opts.cores);
	if (recorded->core_utilisation > 1)
		recorded->core_utilisation = 1;
	if (set_waiting_costs(build) < 0)
		return -ENOMEM;
	if (!build->has_limit && requests->begun > 0 && build->trace.descriptors < UINT32_MAX)
		recorded->descriptors = (uint32_t)build->trace.descriptors;
	recorded->throughput_per_s = requests->throughput_per_s;
	/* Of requests over connections it runs from arrival, which is not recorded. */
	if (!requests->are_over)
		recorded->response_s = requests->response_s;
	if (!build->trace.program)
		return 0;
	recorded->program = model_text(build->model, build->trace.program);
	return recorded->program ? 0 : -ENOMEM;
}

/*
 * CPU time within waits for input and output is work of the call and a switch to other threads, which
 * the simulated processor adds itself: only the rest belongs to the step.
 */
static void leave_out_switches(struct build *build)
{
	double switch_s = median(build->trace.wait_costs_s, build->trace.wait_cost_count);
	uint64_t switch_ns = (uint64_t)(switch_s * 1e9);
	for (size_t i = 0; i < build->trace.thread_count; i++)
		for (size_t j = 0; j < build->trace.threads[i].step_count; j++) {
			struct build_step *step = &build->trace.threads[i].steps[j];
			if (step->op != STEP_IO || !build_has_blocked(step))
				continue;
			uint64_t within_ns =
				step->section < step->cpu_ns ? step->section : step->cpu_ns;
			step->cpu_ns -= within_ns < switch_ns ? within_ns : switch_ns;
		}
}

/*
 * The simulated processor lets who wakes a thread pay for it (trace/wakes.h), and who is woken come later: also from what is
 * only known by how long the thread was away.
 */
static void leave_out_waking(struct build *build)
{
	build->woken = wakes_find(build->trace.wakes);
	uint64_t latency_ns = wake_latency(build);
	for (size_t i = 0; i < build->trace.thread_count; i++)
		for (size_t j = 0; j < build->trace.threads[i].step_count; j++) {
			struct build_step *step = &build->trace.threads[i].steps[j];
			step->cpu_ns = wakes_left(step->cpu_ns, step->wakes, build->woken.cost_ns);
			if (step->is_late && (step->op == STEP_IO || step->op == STEP_SLEEP))
				step->waited_ns = wakes_left(step->waited_ns, 1, latency_ns);
		}
}

/* As if no meaning had been found. */
static void forget_meanings(struct build *build)
{
	size_t count;
	(void)meaning_conds(build->meaning, &count);
	for (uint32_t i = 0; i < count; i++)
		meaning_forget(build->meaning, i);
}

/* What arrivals at barriers tell when they are held side by side. */
static int find_in_rounds(struct build *build)
{
	AUTO_RELEASE(build_arrivals) struct build_arrivals arrivals = { 0 };
	int code = build_arrivals_find(&build->trace, &arrivals);
	if (code < 0)
		return code;
	build_leads_find(&build->trace, &arrivals);
	build_deals_find(build, &arrivals);
	build_rounds_level(&arrivals);
	return 0;
}

/* Its threads are two groups, of which each goes through a part of the work that is another one each time. */
static bool is_of_team(const struct build *build, size_t group)
{
	const struct build_pool *pool =
		build_pool_of(build->pools, &build->groups, (uint32_t)group);
	return pool && pool->starter != BUILD_NONE;
}

/* Requests from outside come in no order that the program has. */
static int find_courses(struct build *build)
{
	const double worth_it = 0.01; /* of all CPU time */
	double least_ns = worth_it * (double)build_trace_cpu_ns(&build->trace);
	int code = 0;
	for (size_t i = 0; i < build->groups.count && build->requests.begun == 0 && code == 0; i++)
		if (!is_of_team(build, i))
			code = build_courses_find(&build->trace, &build->groups.items[i],
				&build->pools[i], least_ns, &build->graphs[i],
				&build->guessed_pieces);
	return code;
}

static int make(struct build *build, struct err *err)
{
	int code = build_taken(build);
	if (code == 0)
		code = build_pipes_find(&build->trace);
	build_tickers_find(&build->trace);
	build_patience_find(&build->trace);
	if (code == 0)
		code = build_give_back_cut(&build->trace);
	if (build->opts.conds == BUILD_BY_SIGNALS)
		forget_meanings(build);
	leave_out_waking(build);
	build_take_off(build);
	if (code == 0)
		code = build_made_locks_find(&build->trace, build->meaning);
	if (code == 0)
		code = build_steps_by_meaning(
			&build->trace, build->meaning, &build->opts, &build->channels);
	if (code == 0)
		code = build_semaphores_by_use(&build->trace);
	if (code == 0)
		code = build_replies_find(&build->trace);
	if (code == 0)
		code = build_polls_find(&build->trace, build->meaning);
	if (code == 0)
		code = build_limiters_find(&build->trace, &build->limiters);
	leave_out_switches(build); /* before waits for requests become gets of a queue */
	if (code == 0)
		code = build_requests_find(&build->trace, &build->requests);
	if (code == 0 && build->requests.arrivals != BUILD_NONE)
		build_leave_out_shutdown(&build->trace);
	if (code == 0)
		build->has_limit = build_limits_find(&build->trace);
	if (build->has_limit && !build->requests.are_over)
		build->requests.clients =
			0; /* what waits for a descriptor comes when one is free */
	build_leave_out_own_signals(&build->trace);
	if (code == 0)
		code = build_leave_out_broken_arrivals(&build->trace);
	if (code == 0)
		code = build_leave_out_teams_of_one(&build->trace);
	if (code == 0)
		code = build_disk_find(&build->trace, &build->disk);
	if (code == 0)
		code = build_name_threads(build);
	if (code == 0)
		code = find_in_rounds(build);
	if (code == 0)
		code = build_batches_find(build);
	if (code == 0)
		code = build_groups_find(&build->trace, &build->groups);
	if (code == 0)
		code = build_classes_find(&build->trace, &build->groups);
	if (code == 0)
		code = build_leave_out_tries(build);
	if (code == 0)
		code = add_parameters(build);
	if (code == 0)
		code = add_groups(build);
	if (code == 0)
		code = find_courses(build);
	if (code == 0)
		code = build_pace_find(build);
	if (code == 0)
		code = build_objects(build);
	for (uint32_t i = 0; i < build->groups.count && code == 0; i++)
		code = build_emit_group(build, i);
	if (code == 0)
		code = add_source(build);
	if (code == 0)
		code = describe_run(build);
	if (code == 0)
		code = build_add_notes(build);
	return code < 0 ? err_set(err, -ENOMEM, "out of memory") : model_check(build->model, err);
}

int build_model(struct build *build, struct model **ret, struct err *err)
{
	size_t steps = 0;
	for (size_t i = 0; i < build->trace.thread_count; i++)
		steps += build->trace.threads[i].step_count;
	if (steps == 0)
		return err_set(err, -ENODATA,
			"the recording holds no operation of any thread: record it with 'corecast "
			"record --via preload'");
	if (build->trace.futexes > 0 && build->trace.named == 0 && !build->opts.is_forced)
		return err_set(err, -ENODATA,
			"the recording shows no locks, only futexes, as the kernel and programs "
			"with locks of their own have: record with 'corecast record --via "
			"preload', or --force a model whose threads sleep where they waited");
	build->model = model_new();
	if (!build->model)
		return err_set(err, -ENOMEM, "out of memory");
	build->model->name = model_text(build->model, build->opts.name ? build->opts.name : "run");
	int code = build->model->name ? make(build, err) : err_set(err, -ENOMEM, "out of memory");
	if (code == 0)
		*ret = TAKE(build->model);
	return code;
}

uint32_t build_slow_paths(const struct build *build)
{
	return build->channels.slow_paths;
}

bool build_has_order(const struct build *build)
{
	for (uint32_t i = 0; build->graphs && i < build->groups.count; i++)
		if (build->graphs[i].has_order)
			return true;
	return false;
}
