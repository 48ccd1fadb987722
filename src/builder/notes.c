/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a reader of a model must know: where its assumptions fail, what was guessed, what was left out. */
#include "builder/parts.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What the model's own error is expected to be: less is not said. */
static const double NOTED_SHARE = 0.1;

static int add_share(struct build *build, double share, const char *before, const char *after)
{
	AUTO_FREE char *text = NULL;
	if (!(share > NOTED_SHARE))
		return 0;
	if (asprintf(&text, "%s %.0f%%%s", before, 100 * share, after) < 0)
		return -ENOMEM;
	return model_add_note(build->model, text);
}

static int add_taken(struct build *build)
{
	/* Of a run that mostly waits they may have had most of little. */
	if (build->opts.cores == 0 || build->taken_of_run < 0.1)
		return 0;
	build->model->recorded.is_slowed = build->taken > NOTED_SHARE;
	return add_share(build, build->taken, "other programs had",
		" of the processors' time that this one could have used, or its threads waited for "
		"what is not recorded (locks of its own making): it took longer than its model");
}

static int add_spins(struct build *build)
{
	const struct build_spin *most;
	AUTO_FREE char *place = NULL, *after = NULL;
	double share = build_spins_share(&build->trace.spins, &most);
	if (!(share > 0))
		return 0;
	place = build_place_name(build, most->pid, most->site);
	if (!place ||
		asprintf(&after,
			" of the CPU time (most at %s), waiting for what is not recorded (locks or "
			"flags of the program's own making): in the model this is work, as much "
			"with more or fewer threads or cores, which it is not",
			place) < 0)
		return -ENOMEM;
	return add_share(build, share, "threads spun for", after);
}

static int add_unsteadiness(struct build *build)
{
	return add_share(build, build_unsteadiness(build),
		"the workload changed while it was recorded: CPU times of the same code differ "
		"between the halves of the run by",
		"; the model is of their mixture");
}

static int add_courses(struct build *build)
{
	double change = 0, all = (double)build_trace_cpu_ns(&build->trace);
	for (size_t i = 0; i < build->groups.count; i++)
		change += build_course_change(&build->graphs[i]);
	return add_share(build, all > 0 ? change / all : 0,
		"the workload changed while it was recorded: CPU times of the same code differ in "
		"its course by",
		" from their mean; the model has the same course, and begins it anew after as much "
		"work");
}

static int add_drift(struct build *build)
{
	double arrivals = build_drift_of_arrivals(build), turns = build_drift_of_turns(build);
	int code = add_share(build, turns,
		"the workload changed while it was recorded: what threads do for each item or "
		"request took another time later in the run than at first, by",
		"; the model is of their mixture");
	if (code == 0 && !(turns > 0.1))
		code = add_share(build, build_phases_of_turns(build),
			"what threads do for each item or request took longer at some times of the "
			"run than at others, by",
			"; in the model, where times do not depend on those before, it does not: "
			"queues are longer than it says");
	if (code == 0)
		code = add_share(build, fabs(arrivals),
			arrivals > 0 ? "the workload changed while it was recorded: later in the "
				       "run more requests came than at first, by"
				     : "the workload changed while it was recorded: later in the "
				       "run fewer requests came than at first, by",
			"; in the model they come as often all the time");
	bool are_drawn = build->requests.clients == 0 && (build->requests.arrivals != BUILD_NONE ||
								 build->pace.group != BUILD_NONE);
	if (code == 0 && fabs(arrivals) <= 0.1 && are_drawn && build_come_in_bursts(build))
		code = model_add_note(build->model,
			"requests came in bursts, which the model, where intervals do not depend "
			"on those before, does not have: queues are longer than it says");
	return code;
}

static int add_uncertainty(struct build *build)
{
	return add_share(build, build_uncertainty(build),
		"the run was short: how much CPU time its code takes is known to within",
		"; a longer one tells more");
}

/* A frequency or other users that changed between the two runs look like a cost, too. */
static int add_cost(struct build *build)
{
	AUTO_FREE char *text = NULL;
	if (!(build->opts.took_s > 0) && !(build->cost_share > 0))
		return 0;
	int length = build->cost_share > 0
			     ? asprintf(&text,
				       "CPU times are less what recording cost (%.1f%% of them%s): "
				       "%.0f ns for each lock, %.0f ns for each other event, then "
				       "%.1f%% of what was left",
				       100 * build->cost_share,
				       build->opts.took_s > 0 ? "" : ", by samples of it",
				       build->lock_cost_ns, build->event_cost_ns,
				       100 * (1 - build->cost_factor))
			     : asprintf(&text, "the run without a recorder took no less time: "
					       "CPU times are as recorded");
	return length < 0 ? -ENOMEM : model_add_note(build->model, text);
}

/* What there is any of: "waits (3): they sleep". */
static int add_counted(struct build *build)
{
	static const char own_work[] = ", which one run cannot tell; with own_work = 1 each thread "
				       "does as much as one of those";
	const struct {
		uint64_t count;
		const char *what, *then, *more;
	} notes[] = {
		{ build->trace.lost, "events were not recorded or cannot be read", "", "" },
		{ build->trace.left_out, "free locks were left out",
			" to save time, and with them the order of what threads do: record with "
			"'--budget none' for a model",
			"" },
		{ build->trace.slept_futexes,
			"waits at futexes of which it was not seen who ended them",
			": they sleep as long as recorded, whatever else changes", "" },
		{ build->trace.told_futexes, "waits at futexes",
			", which do not say what they are used for: they wait for those who ended "
			"them, as often as recorded",
			"" },
		{ build->channels.unknown_waits, "waits at conditions whose meaning was not found",
			": they sleep as long as recorded, whatever else changes", "" },
		{ build->channels.told_waits, "waits at conditions whose meaning was not found",
			": they wait for the signals of those who ended them, as often as recorded",
			"" },
		{ build->opts.conds == BUILD_WITHOUT_SLOW_PATH &&
				build->opts.slow_path < build->channels.slow_paths,
			"conditions at which all who came waited",
			": what is counted there seems to be counted elsewhere, too, where nothing "
			"was seen; nobody waits for them in the model",
			"" },
		{ build->channels.guessed_capacities, "queues that were never full",
			": how many items they hold is a guess, that of a queue used from the same "
			"code",
			"" },
		{ build->channels.failed_tries, "tries of locks that failed", " are left out", "" },
		{ build->tries,
			"locks that were taken in an order that others do not take, and never "
			"waited",
			", are taken to be tries: they are left out", "" },
		{ build->guessed_splits, "loops that had the same count in each thread",
			": their sum is taken to be shared by the threads", own_work },
		{ build->guessed_pieces,
			"pieces of code that took some threads longer than others all the time, or "
			"in a part of their work",
			": each thread is taken to have a piece of the work, one behind the other, "
			"as of an array",
			"" },
		{ build->guessed_shares, "pieces of code before a barrier or an end",
			" are taken to be equal shares of work that more threads would share, too",
			own_work },
	};
	int code = 0;
	for (size_t i = 0; i < ARRAY_SIZE(notes) && code == 0; i++) {
		AUTO_FREE char *text = NULL;
		if (notes[i].count == 0)
			continue;
		if (asprintf(&text, "%s (%" PRIu64 ")%s%s", notes[i].what, notes[i].count,
			    notes[i].then, notes[i].more) < 0)
			return -ENOMEM;
		code = model_add_note(build->model, text);
	}
	return code;
}

int build_add_notes(struct build *build)
{
	int code = add_counted(build);
	if (code == 0)
		code = add_cost(build);
	if (code == 0 && build->has_limit && build->requests.begun > 0)
		code = model_add_note(build->model, "requests had to wait for descriptors, so that "
						    "it was not seen when they came: "
						    "'rate' is how many were let in, and that they "
						    "come at random (Poisson) a guess");
	if (code == 0 && build->disk.is_guessed)
		code = model_add_note(build->model,
			"the disk was not seen both with one request and with more than it serves "
			"at once: how many that are ('disk_parallel') is a guess");
	if (code == 0)
		code = add_taken(build);
	if (code == 0)
		code = add_spins(build);
	if (code == 0)
		code = add_uncertainty(build);
	if (code == 0)
		code = add_courses(build);
	if (code == 0)
		code = add_drift(build);
	return code < 0 ? code : add_unsteadiness(build);
}
