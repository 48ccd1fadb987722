/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the programs with a planted bottleneck share: options, work, threads, and the end. C and C++.
 *
 * Work is a fixed number of steps, never a time: two runs do the same, whoever else uses the cores.
 * It is inlined, so that a profile shows the function that asked for it.
 *
 *	-t THREADS		how many
 *	-s SCALE		times as many repetitions
 *	--fix			without the plant
 *	--ticks			tells microseconds of work by corecast_tick(), each millisecond
 *	--speedup NAME=FACTOR	the work of the thread, or part, of that name takes 1/FACTOR of its steps
 */
#ifndef PLANT_H
#define PLANT_H

#include <corecast/probe.h>

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLANT_THREADS_MAX = 1024, PLANT_STEPS_PER_US = 330 };
enum { PLANT_STEPS_PER_TICK = 1000 * PLANT_STEPS_PER_US };

struct plant {
	const char *program;
	int threads;
	double scale;
	bool is_fixed, has_ticks;
	const char *faster; /* NAME of --speedup with its FACTOR, NULL if none */
	size_t faster_length;
	double factor;
	double start_s;
};

static inline double plant_now_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail with this clock */
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void plant_usage(FILE *out, const char *program, const char *summary)
{
	fprintf(out,
		"Usage: %s [-t THREADS] [-s SCALE] [--fix] [--ticks] [--speedup "
		"NAME=FACTOR]\n\n%s\n",
		program, summary);
	exit(out == stdout ? 0 : 2);
}

/* Sets NAME and FACTOR; false if the text is not such a pair with a factor above 0. */
static inline bool plant_parse_speedup(const char *text, struct plant *plant)
{
	const char *equals = strchr(text, '=');
	char *end = NULL;
	if (!equals || equals == text)
		return false;
	plant->faster = text;
	plant->faster_length = (size_t)(equals - text);
	plant->factor = strtod(equals + 1, &end);
	return end != equals + 1 && !*end && plant->factor > 0;
}

/* Reads the options; ends the program when they are wrong or ask for help. Starts the clock. */
static inline struct plant plant_begin(int argc, char **argv, const char *summary)
{
	static const struct option options[] = {
		{ "fix", no_argument, NULL, 'f' },
		{ "speedup", required_argument, NULL, 'x' },
		{ "ticks", no_argument, NULL, 'k' },
		{ NULL, 0, NULL, 0 },
	};
	struct plant plant = { strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0], 4, 1,
		false, false, NULL, 0, 1, 0 };
	int option;
	bool is_wrong = false;
	while ((option = getopt_long(argc, argv, "ht:s:", options, NULL)) != -1) {
		char *end = NULL;
		if (option == 'h')
			plant_usage(stdout, plant.program, summary);
		else if (option == 'f')
			plant.is_fixed = true;
		else if (option == 'k')
			plant.has_ticks = true;
		else if (option == 'x')
			is_wrong |= !plant_parse_speedup(optarg, &plant);
		else if (option == 't')
			plant.threads = (int)strtol(optarg, &end, 10);
		else if (option == 's')
			plant.scale = strtod(optarg, &end);
		else
			is_wrong = true;
		is_wrong |= end && (end == optarg || *end);
	}
	is_wrong |= optind < argc || plant.threads < 2 || plant.threads > PLANT_THREADS_MAX;
	if (is_wrong || !(plant.scale > 0 && plant.scale <= 1000))
		plant_usage(stderr, plant.program, summary);
	plant.start_s = plant_now_s();
	return plant;
}

/* A number of repetitions, scaled. */
static inline int plant_count(const struct plant *plant, int count)
{
	double scaled = count * plant->scale;
	return scaled < 1 ? 1 : (int)scaled;
}

/* The finaliser of the splitmix64 generator. */
static inline uint64_t plant_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

/*
 * Work on an item by the thread or part `name`: a chain in which every step needs the one before,
 * near `us` microseconds of processor time. Returns the item's part of the checksum, which does not
 * depend on how many steps were made.
 */
static inline __attribute__((always_inline)) uint64_t plant_work(
	const struct plant *plant, const char *name, uint64_t item, double us)
{
	bool is_faster = plant->faster && strlen(name) == plant->faster_length &&
			 memcmp(name, plant->faster, plant->faster_length) == 0;
	uint64_t value = item + 1;
	int64_t steps = (int64_t)(us * PLANT_STEPS_PER_US / (is_faster ? plant->factor : 1));
	while (steps > 0) {
		int64_t part = PLANT_STEPS_PER_TICK;
		if (part > steps)
			part = steps;
		steps -= part;
		for (int64_t step = 0; step < part; step++) {
			value = plant_mix(value);
			__asm__ volatile("" : "+r"(value)); /* no step may be left out */
		}
		if (plant->has_ticks)
			corecast_tick((uint64_t)part / PLANT_STEPS_PER_US);
	}
	return plant_mix(item + 1);
}

/* Prints the checksum and the time since plant_begin(). Returns the exit status. */
static inline int plant_end(const struct plant *plant, uint64_t checksum)
{
	printf("checksum: %016" PRIx64 "\nseconds: %.4f\n", checksum,
		plant_now_s() - plant->start_s);
	return 0;
}

#endif
