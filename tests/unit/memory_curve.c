/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmocka_all.h"

#include "base/mem.h"
#include "base/rng.h"
#include "machine/memory_curve.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

enum { POINTS = 33, KIB = 1024, MIB = 1024 * 1024 };

/* Caches as they are, and as the machine tells them. */
struct known {
	const char *name;
	uint64_t bytes[MEMORY_LEVELS], claimed[MEMORY_LEVELS];
	double ns[MEMORY_LEVELS], memory_ns;
};

/* Latencies as commonly measured: xeons of 2021 and 2023, an EPYC 7763's complex, a Graviton2, a small Arm core. */
static const struct known machines[] = {
	{ "icelake-sp", { 48 * KIB, 1280 * KIB, 60 * MIB }, { 48 * KIB, 1280 * KIB, 60 * MIB },
		{ 1.5, 4.2, 21 }, 85 },
	{ "sapphire-rapids", { 48 * KIB, 2 * MIB, 105 * MIB }, { 48 * KIB, 2 * MIB, 105 * MIB },
		{ 1.7, 5, 33 }, 108 },
	{ "zen3", { 32 * KIB, 512 * KIB, 32 * MIB }, { 32 * KIB, 512 * KIB, 32 * MIB },
		{ 1.2, 3.5, 14 }, 97 },
	{ "neoverse-n1", { 64 * KIB, 1 * MIB, 32 * MIB }, { 64 * KIB, 1 * MIB, 32 * MIB },
		{ 1.6, 4.4, 30 }, 100 },
	{ "two levels", { 32 * KIB, 1 * MIB, 0 }, { 32 * KIB, 1 * MIB, 0 }, { 2, 10, 0 }, 130 },
	{ "a part of the last", { 48 * KIB, 2 * MIB, 60 * MIB }, { 48 * KIB, 2 * MIB, 480 * MIB },
		{ 1.3, 4.1, 40 }, 150 },
	{ "a small part of the last", { 48 * KIB, 2 * MIB, 10 * MIB },
		{ 48 * KIB, 2 * MIB, 480 * MIB }, { 1.3, 4.1, 40 }, 150 },
	{ "a part of the second", { 48 * KIB, 512 * KIB, 8 * MIB }, { 48 * KIB, 2 * MIB, 32 * MIB },
		{ 1.3, 4.1, 30 }, 100 },
};

static double time_in(const struct known *m, uint64_t bytes)
{
	double ns = m->ns[0];
	for (unsigned i = 0; i < MEMORY_LEVELS && m->bytes[i]; i++) {
		bool is_last = i + 1 == MEMORY_LEVELS || !m->bytes[i + 1];
		double next = is_last ? m->memory_ns : m->ns[i + 1];
		if (bytes > m->bytes[i])
			ns += (next - m->ns[i]) * (1 - (double)m->bytes[i] / (double)bytes);
	}
	return ns;
}

/* Each measurement up to `noise` longer than it should be: others on the machine only make it longer. */
static void measure(const struct known *m, double noise, struct memory_point points[POINTS])
{
	struct rng rng;
	rng_init(&rng, 7);
	double bytes = 8 * KIB;
	for (unsigned i = 0; i < POINTS - 1; i++, bytes *= 1.4142135623730951) {
		double ns = time_in(m, (uint64_t)bytes);
		points[i] = (struct memory_point){ (uint64_t)bytes,
			ns * (1 + noise * rng_uniform(&rng)) };
	}
	points[POINTS - 1] = (struct memory_point){ UINT64_MAX, m->memory_ns };
}

static void caches_are_found(const struct known *m, double noise, double tolerance)
{
	struct memory_point points[POINTS];
	struct memory_levels levels;
	measure(m, noise, points);
	assert_int_equal(memory_curve_fit(points, POINTS, m->claimed, &levels), 0);
	for (unsigned i = 0; i < MEMORY_LEVELS; i++) {
		if (m->bytes[i] == m->claimed[i]) {
			assert_int_equal(levels.bytes[i], m->bytes[i]);
		} else {
			double off = (double)levels.bytes[i] / (double)m->bytes[i];
			assert_true(off > 0.8 && off < 1.25);
		}
		assert_true(levels.ns[i] >= m->ns[i] * (1 - tolerance));
		assert_true(levels.ns[i] <= m->ns[i] * (1 + tolerance));
	}
	assert_true(levels.memory_ns >= m->memory_ns * (1 - tolerance));
	assert_true(levels.memory_ns <= m->memory_ns * (1 + tolerance));
}

static void known_machines_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		caches_are_found(&machines[i], 0, 0.06);
}

static void noise_does_not_take_caches_away(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		caches_are_found(&machines[i], 0.12, 0.2);
}

static void no_curve_is_no_fit(void **state)
{
	(void)state;
	const uint64_t claimed[MEMORY_LEVELS] = { 32 * KIB, 1 * MIB, 8 * MIB };
	struct memory_point points[POINTS];
	struct memory_levels levels = { .error = -1 };
	measure(&machines[0], 0, points);
	assert_int_equal(memory_curve_fit(points, 4, claimed, &levels), -EINVAL);
	points[3].ns = 0;
	assert_int_equal(memory_curve_fit(points, POINTS, claimed, &levels), -EINVAL);
	assert_true(levels.error == -1);
}

static void half_of_the_lines_say_how_long_they_stay(void **state)
{
	(void)state;
	const double waits[] = { 0, 2e6, 5e6, 10e6, 20e6 };
	const double going[] = { 40, 40, 40, 80, 160 }; /* all, all, all, two thirds, none */
	const double staying[] = { 40, 42, 41, 40, 43 };
	const double never[] = { 155, 158, 160, 160, 160 };
	double lifetime = memory_curve_lifetime(waits, going, ARRAY_SIZE(waits), 160);
	assert_true(lifetime > 12.4e6 && lifetime < 12.6e6);
	assert_true(memory_curve_lifetime(waits, staying, ARRAY_SIZE(waits), 160) == 0);
	assert_true(memory_curve_lifetime(waits, never, ARRAY_SIZE(waits), 160) == 0);
	assert_true(memory_curve_lifetime(waits, going, 0, 160) == 0);
}

static void what_others_bring_meanwhile_is_not_missing(void **state)
{
	(void)state;
	const uint64_t mib = 1 << 20;
	assert_int_equal(memory_curve_alone(16 * mib, 32 * mib, 1e6, 4e6), 64 * mib / 3);
	assert_int_equal(memory_curve_alone(24 * mib, 32 * mib, 2e6, 4e6), 32 * mib);
	assert_int_equal(memory_curve_alone(8 * mib, 32 * mib, 5e6, 4e6), 32 * mib);
	assert_int_equal(memory_curve_alone(32 * mib, 32 * mib, 1e3, 1e9), 32 * mib);
}

/* Quantiles of 100 ns for all and 25 more in the mean, exponentially distributed; 30 of looks at the clock; an interrupt. */
static void what_is_another_time_each_time(void **state)
{
	(void)state;
	double ns[1000], same[100];
	for (unsigned i = 0; i < ARRAY_SIZE(ns); i++)
		ns[(i * 7) % 1000] = 30 + 100 - 25 * log1p(-(i + 0.5) / 1000);
	ns[500] = 40000;
	double spread = memory_curve_spread(ns, ARRAY_SIZE(ns), 125);
	assert_true(spread > 0.195 && spread < 0.205);
	for (unsigned i = 0; i < ARRAY_SIZE(same); i++)
		same[i] = 150;
	assert_true(memory_curve_spread(same, ARRAY_SIZE(same), 125) == 0);
	assert_true(memory_curve_spread(same, 0, 125) == 0);
}

static void what_is_kept_is_told_by_time(void **state)
{
	(void)state;
	assert_true(fabs(memory_curve_kept(1.5, 1, 2) - 0.5) < 1e-9);
	assert_true(memory_curve_kept(2.1, 1, 2) == 0); /* slower than memory: by chance */
	assert_true(memory_curve_kept(0.9, 1, 2) == 1);
	assert_true(memory_curve_kept(1.1, 1, 1.4) == 0); /* as fast as memory: not told */
	assert_true(memory_curve_kept(1, 0, 0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_machines_are_found),
		cmocka_unit_test(noise_does_not_take_caches_away),
		cmocka_unit_test(no_curve_is_no_fit),
		cmocka_unit_test(half_of_the_lines_say_how_long_they_stay),
		cmocka_unit_test(what_others_bring_meanwhile_is_not_missing),
		cmocka_unit_test(what_is_kept_is_told_by_time),
		cmocka_unit_test(what_is_another_time_each_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
