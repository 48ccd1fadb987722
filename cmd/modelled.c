/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "modelled.h"

#include "machines.h"
#include "predicted.h"
#include "profiled.h"

#include "base/mem.h"
#include "collect/argv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MIB = 4096 };

/* By enum core_component, then waiting. */
static const char *const names[PREDICT_PARTS] = { "modelled_core", "modelled_branch",
	"modelled_icache", "modelled_l2", "modelled_llc", "modelled_memory", "modelled_coherence",
	"modelled_tlb", "modelled_system", "modelled_sibling", "modelled_sync" };

/* What the program prints belongs to the measured runs. */
static int silence(int saved[2], struct err *err)
{
	AUTO_FD int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null < 0)
		return err_set(err, -errno, "cannot open /dev/null: %s", strerror(errno));
	(void)fflush(stdout); /* reported at the end */
	for (int i = 0; i < 2; i++) {
		saved[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 0);
		if (saved[i] < 0 || dup2(null, STDOUT_FILENO + i) < 0)
			return err_set(err, -errno, "cannot set standard output aside: %s",
				strerror(errno));
	}
	return 0;
}

static void give_back(int saved[2])
{
	for (int i = 0; i < 2; i++) {
		if (saved[i] < 0)
			continue;
		(void)dup2(saved[i], STDOUT_FILENO + i); /* it was open a moment ago */
		(void)close(saved[i]); /* the copy */
	}
}

static int run_silently(const struct profiler_opts *opts, struct profiler_result *ran,
	struct profile *profile, struct err *err)
{
	int saved[2] = { -1, -1 };
	int code = silence(saved, err);
	if (code == 0)
		code = profile_run(opts, ran, profile, err);
	give_back(saved);
	if (code < 0)
		return code;
	if (ran->stop_signal) /* who stops the program means us, too */
		return err_set(err, -ECANCELED, "stopped by a signal");
	if (WIFEXITED(ran->status) && WEXITSTATUS(ran->status) == 0)
		return 0;
	return err_set(err, -ECHILD, "'%s' failed when it was profiled", opts->argv[0]);
}

/*
 * Cycles of as many cores as threads were asked for. Those of the base that keep a core as wide as it is are work;
 * in those that nobody runs, threads wait, or are not there.
 */
static void take_cycles(const struct modelled *modelled, const struct prediction *prediction,
	uint32_t threads, double ret[PREDICT_PARTS])
{
	double work = prediction->instructions / modelled->processor.dispatch_width;
	double all = (double)prediction->ns * 1e-9 * modelled->processor.frequency_hz * threads;
	double busy = 0;
	for (int i = 0; i < CORE_COMPONENTS; i++) {
		ret[i] = prediction->stack[i] * prediction->instructions;
		busy += ret[i];
	}
	ret[CORE_BASE] = ret[CORE_BASE] > work ? ret[CORE_BASE] - work : 0;
	ret[PREDICT_SYNC] = all > busy ? all - busy : 0;
}

static int predict(const struct modelled *modelled, struct predicted *predicted, uint32_t threads,
	double ret[PREDICT_PARTS], struct err *err)
{
	int code = predicted_prepare(predicted, 0, err);
	if (code == 0)
		code = predicted_settle(predicted, &modelled->processor, err);
	if (code < 0)
		return code;
	AUTO_RELEASE(prediction) struct prediction prediction = { 0 };
	const struct predict_run run = { .processor = &modelled->processor };
	code = rppm_run(predicted->rppm, &run, &prediction, err);
	if (code == 0)
		take_cycles(modelled, &prediction, threads, ret);
	return code;
}

static int profile_count(const struct modelled *modelled, uint32_t threads,
	double ret[PREDICT_PARTS], struct err *err)
{
	char number[16];
	__attribute__((cleanup(cleanup_argv))) char **argv = NULL;
	AUTO_RELEASE(profiler_result) struct profiler_result ran = { 0 };
	AUTO_RELEASE(predicted) struct predicted predicted = { .path = "the profile" };
	(void)snprintf(number, sizeof number, "%u", threads); /* fits */
	if (argv_expand(modelled->program, threads, &argv) < 0 ||
		setenv(modelled->count_variable, number, 1) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	const struct profiler_opts opts = {
		.argv = argv,
		.backend = "auto",
		.trace_bytes_max = (uint64_t)LIMIT_MIB << 20,
	};
	int code = run_silently(&opts, &ran, &predicted.profile, err);
	return code < 0 ? code : predict(modelled, &predicted, threads, ret, err);
}

static int stalls_at(void *context, uint32_t threads, double *ret, struct err *err)
{
	struct modelled *modelled = context;
	for (size_t i = 0; i < modelled->count; i++)
		if (modelled->counts[i].threads == threads) {
			memcpy(ret, modelled->counts[i].cycles, sizeof modelled->counts[i].cycles);
			return 0;
		}
	if (mem_grow(&modelled->counts, &modelled->capacity, modelled->count + 1,
		    sizeof *modelled->counts) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	struct modelled_count *added = &modelled->counts[modelled->count];
	added->threads = threads;
	int code = profile_count(modelled, threads, added->cycles, err);
	if (code < 0)
		return err_prefix(err, code, "stalls at %u threads", threads);
	modelled->count++;
	memcpy(ret, added->cycles, sizeof added->cycles);
	return 0;
}

int modelled_init(struct modelled *modelled, char *const *program, const char *count_variable,
	const char *machine, struct err *err)
{
	const struct profiler_opts opts = { .argv = program, .backend = "auto" };
	*modelled = (struct modelled){ .program = program,
		.count_variable = count_variable,
		.model = { .names = names, .count = PREDICT_PARTS, .values = stalls_at } };
	modelled->model.context = modelled;
	int code = profiler_check(&opts, NULL, err);
	return code < 0 ? code : machine_load(machine, &modelled->processor, err);
}

void modelled_release(struct modelled *modelled)
{
	processor_release(&modelled->processor);
	free(modelled->counts);
	*modelled = (struct modelled){ 0 };
}
