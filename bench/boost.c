/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What making one thread faster gains, in the simulator: the set-up of Du Bois et al., ISCA 2013, sections
 * 7 and 8 (2 GHz, one core at 2.5 GHz, slices of 10 ms, 8 and 16 cores), over programs of our own with the
 * character of theirs, and over recorded timelines. Usage:
 *
 *	boost [--memory SHARE] [--seeds N] [--machine FILE] [TIMELINE...]
 */
#include "base/mem.h"
#include "base/number.h"
#include "base/path.h"
#include "boost_programs.h"
#include "boost_steer.h"
#include "meaning/meaning.h"
#include "trace/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OFFLINE, DYNAMIC, RESUME, BIS, ALL, WAYS };
enum { SEEDS = 5 };

/* Of one case, or the sum over cases: against the run in which no core is fast. */
struct row {
	double speedup[WAYS], asleep[WAYS], spinning[WAYS]; /* relative, 0.01 is 1% */
	double fast[WAYS]; /* share of the time in which a core was fast */
};

struct bench {
	double memory_share;
	uint64_t seeds;
	const char *machine; /* whose file has the power model; NULL: an assumed one */
	struct steer_power power;
	char **paths;
	int path_count;
};

struct source {
	const struct shape *shape; /* or */
	struct replay *replay;
	uint32_t cores;
	uint64_t seed;
};

static int play(const struct source *source, const struct steering *steering, struct outcome *ret,
	struct err *err)
{
	if (source->replay)
		return steer_replay(source->replay, source->cores, steering, ret, err);
	struct program program;
	program_init(&program, source->shape, source->cores, source->seed);
	return steer_program(&program, steering, ret, err);
}

static int compare(
	const struct bench *bench, const struct source *source, struct row *ret, struct err *err)
{
	struct outcome base;
	int code = play(source,
		&(struct steering){ .power = &bench->power, .memory_share = bench->memory_share },
		&base, err);
	if (code < 0)
		return code;
	const struct steering ways[WAYS] = {
		[OFFLINE] = { .fixed_tid = base.critical_tid },
		[DYNAMIC] = { .policy = &boost_policy_dynamic },
		[RESUME] = { .policy = &boost_policy_resume },
		[BIS] = { .policy = &boost_policy_bis },
		[ALL] = { .is_all_fast = true },
	};
	for (int i = 0; i < WAYS && code == 0; i++) {
		struct steering steering = ways[i];
		struct outcome outcome;
		steering.memory_share = bench->memory_share;
		steering.power = &bench->power;
		code = play(source, &steering, &outcome, err);
		if (code < 0)
			return code;
		ret->speedup[i] += (double)base.ns / (double)outcome.ns - 1;
		ret->asleep[i] += outcome.joules_asleep / base.joules_asleep - 1;
		ret->spinning[i] += outcome.joules_spinning / base.joules_spinning - 1;
		ret->fast[i] += (double)outcome.fast_ns / (double)outcome.ns;
	}
	return code;
}

static void add(struct row *sum, const struct row *row)
{
	for (int i = 0; i < WAYS; i++) {
		sum->speedup[i] += row->speedup[i];
		sum->asleep[i] += row->asleep[i];
		sum->spinning[i] += row->spinning[i];
		sum->fast[i] += row->fast[i];
	}
}

static struct row divided(const struct row *sum, double count)
{
	struct row mean = *sum;
	for (int i = 0; i < WAYS; i++) {
		mean.speedup[i] /= count;
		mean.asleep[i] /= count;
		mean.spinning[i] /= count;
		mean.fast[i] /= count;
	}
	return mean;
}

static void print_head(uint32_t cores)
{
	printf("\n%-34s%40s |%4s |%17s |%17s\n", "", "speedup %", "fast", "energy %, asleep",
		"energy %, spin");
	printf("%2u cores%26s%8s%8s%8s%8s%8s |%4s |%6s%6s%5s |%6s%6s%5s\n", cores, "", "offline",
		"dynamic", "resume", "BIS", "all", "dyn", "dyn", "resum", "all", "dyn", "resum",
		"all");
}

static void print_row(const char *name, const struct row *row)
{
	printf("%-34.34s", name);
	for (int i = 0; i < WAYS; i++)
		printf("%8.1f", 100 * row->speedup[i]);
	printf(" |%4.0f |%6.1f%6.1f%5.1f |%6.1f%6.1f%5.1f\n", 100 * row->fast[DYNAMIC],
		100 * row->asleep[DYNAMIC], 100 * row->asleep[RESUME], 100 * row->asleep[ALL],
		100 * row->spinning[DYNAMIC], 100 * row->spinning[RESUME],
		100 * row->spinning[ALL]);
}

/* Their figures for 8 and 16 cores; 71% and the offline mean are of both together. */
static void print_paper(uint32_t cores)
{
	bool is_8 = cores == 8;
	printf("%-34s%8.1f%8.1f%8s%8.1f%8s |%4d |%17s |%6.1f%6s%5.1f\n",
		"paper, mean of its benchmarks", 4.8, is_8 ? 4.6 : 4.2, "", is_8 ? 2.4 : 2.7, "",
		71, "", is_8 ? -2.8 : -3.2, "", is_8 ? 2.5 : 1.3);
}

static int score_programs(const struct bench *bench, uint32_t cores, struct err *err)
{
	struct row sum = { 0 };
	double count = 0;
	print_head(cores);
	for (size_t i = 0; i < boost_shape_count; i++) {
		struct row row = { 0 };
		for (uint64_t seed = 1; seed <= bench->seeds; seed++) {
			struct source source = {
				.shape = &boost_shapes[i], .cores = cores, .seed = seed
			};
			int code = compare(bench, &source, &row, err);
			if (code < 0)
				return code;
		}
		row = divided(&row, (double)bench->seeds);
		print_row(boost_shapes[i].name, &row);
		if (boost_shapes[i].is_balanced)
			continue;
		add(&sum, &row);
		count++;
	}
	sum = divided(&sum, count);
	print_row("mean of all but balanced", &sum);
	print_paper(cores);
	return 0;
}

static int feed(
	const char *path, const struct event_sink *sink, uint32_t *ret_cores, struct err *err)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	int code = timeline_open(path, &reader, err);
	if (code < 0)
		return code;
	*ret_cores = trace_reader_quality(reader)->cores;
	return trace_reader_replay(reader, sink, err);
}

static int load(const char *path, struct meaning **meaning, struct replay **ret, struct err *err)
{
	struct replay_opts opts = { 0 };
	if (meaning_new(meaning) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	struct event_sink sink = meaning_sink(*meaning);
	int code = feed(path, &sink, &opts.cores, err);
	opts.meaning = *meaning;
	if (code == 0)
		code = replay_new(&opts, ret, err);
	if (code < 0)
		return code;
	sink = replay_sink(*ret);
	return feed(path, &sink, &opts.cores, err);
}

static int score_timeline(
	const struct bench *bench, const char *path, uint32_t cores, struct err *err)
{
	AUTO(meaning) struct meaning *meaning = NULL;
	AUTO(replay) struct replay *replay = NULL;
	struct row row = { 0 };
	int code = load(path, &meaning, &replay, err);
	if (code == 0)
		code = compare(
			bench, &(struct source){ .replay = replay, .cores = cores }, &row, err);
	if (code < 0)
		return err_prefix(err, code, "%s", path);
	print_row(path_file_name(path), &row);
	return 0;
}

static int score(const struct bench *bench, struct err *err)
{
	static const uint32_t cores[] = { 8, 16 };
	const struct steer_power *power = &bench->power;
	printf("%.1f GHz, the fast core %.1f GHz; power of %s: a busy core %.2f and %.2f, leakage\n"
	       "%.2f and %.2f of it, an idle one %.0f%% of the rest, beside the cores %.2f;\n"
	       "memory %.0f%% of the time at %.1f GHz; %llu seeds\n",
		BASE_GHZ, FAST_GHZ, bench->machine ? bench->machine : "an assumption",
		power->base_static + power->base_dynamic, power->fast_static + power->fast_dynamic,
		power->base_static, power->fast_static, 100 * power->idle_share, power->uncore,
		100 * bench->memory_share, BASE_GHZ, (unsigned long long)bench->seeds);
	for (size_t i = 0; i < ARRAY_SIZE(cores); i++) {
		int code = score_programs(bench, cores[i], err);
		if (code < 0)
			return code;
	}
	for (size_t i = 0; i < ARRAY_SIZE(cores) && bench->path_count > 0; i++) {
		print_head(cores[i]);
		for (int j = 0; j < bench->path_count; j++) {
			int code = score_timeline(bench, bench->paths[j], cores[i], err);
			if (code < 0)
				return code;
		}
	}
	return 0;
}

/* The power model of a machine file. */
static int read_power(const char *path, struct steer_power *ret, struct err *err)
{
	enum { FILE_MAX = 1 << 16 };
	AUTO_FREE char *text = malloc(FILE_MAX);
	AUTO_FILE FILE *file = fopen(path, "re");
	if (!file || !text)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	size_t length = fread(text, 1, FILE_MAX, file);
	AUTO_RELEASE(processor) struct processor processor = { 0 };
	int code = processor_parse(path, text, length, &processor, err);
	if (code < 0)
		return code;
	if (!energy_is_known(&processor))
		return err_set(err, -EINVAL, "'%s' has no power model with voltages", path);
	*ret = steer_power_of(&processor.power);
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: boost [--memory SHARE] [--seeds N] [--machine FILE] [TIMELINE...]\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct bench bench = { .seeds = SEEDS, .power = steer_power_assumed() };
	int at = 1;
	for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
		const char *value = argv[at + 1];
		if (strcmp(argv[at], "--memory") == 0 &&
			number_parse_double(value, &bench.memory_share) == 0 &&
			bench.memory_share >= 0 && bench.memory_share <= 1)
			continue;
		if (strcmp(argv[at], "--seeds") == 0 &&
			number_parse_u64(value, &bench.seeds) == 0 && bench.seeds > 0)
			continue;
		if (strcmp(argv[at], "--machine") == 0) {
			bench.machine = value;
			continue;
		}
		return usage();
	}
	if (at < argc && argv[at][0] == '-')
		return usage();
	bench.paths = argv + at;
	bench.path_count = argc - at;
	struct err err = { 0 };
	int code = bench.machine ? read_power(bench.machine, &bench.power, &err) : 0;
	if (code < 0 || score(&bench, &err) < 0) {
		fprintf(stderr, "boost: %s\n", err.text);
		return 1;
	}
	return 0;
}
