/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/memory_speed.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"
#include "machine/memory_room.h"
#include "machine/speed_clock.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of each kind several short tries, so that some are not disturbed. */
enum {
	CHASES = 100,
	CURVE_MAX = 48, /* sizes: two in an octave */
	CURVE_ROUNDS = 20,
	ALONE_TRIES = 4,
	WAIT_ROUNDS = 20,
	STREAMS = 4,
	READERS_MAX = 256,
	FAR_BYTES = 1024, /* of memory for each line that is read from memory */
	FAULT_BYTES = 8 << 20,
	FAULT_TRIES = 5,
};

static const size_t PAGED_BYTES = (size_t)32 << 20;
static const size_t ROOM_LEAST = (size_t)64 << 20, ROOM_MOST = (size_t)512 << 20;
static const double KIND_NS = 0.5e9; /* not longer for each kind, however busy the machine is */
static const double NEAR_NS =
	0.1e9; /* others are at work for some hundredths of a second at a time */
static const double CURVE_NS = 1e9, LIFETIME_NS = 0.5e9;
static const double INTERRUPTED_NS = 0.2e6; /* less than a turn of another program */
static const double READ_NS = 3e8;
static const double waits_ns[] = { 0, 1e6, 1.6e6, 2.5e6, 4e6, 6.4e6, 10e6, 16e6, 25e6, 40e6, 64e6,
	100e6, 160e6 };

/* A ring of all numbers below `count` in random order (Sattolo). */
static void shuffle(uint32_t *order, size_t count, uint64_t seed)
{
	struct rng rng;
	rng_init(&rng, seed);
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	for (size_t i = count; i-- > 1;) {
		size_t other = rng_below(&rng, i);
		uint32_t kept = order[i];
		order[i] = order[other];
		order[other] = kept;
	}
}

/*
 * ROOM_STEPS lines in random order that no cache has, however large: taken out of all of them, one in each kilobyte, so that who fetches
 * neighbours brings none of the others, and in so few pages that any TLB has them. NULL: they cannot be; overwritten by the next call.
 */
static const uint32_t *far_lines(const struct room *room, uint64_t *state)
{
	static uint32_t order[ROOM_STEPS];
	uint64_t at = *state;
	shuffle(order, ROOM_STEPS, (*state)++);
	for (uint32_t i = 0; i < ROOM_STEPS; i++) {
		size_t line = room_next(&at, FAR_BYTES / ROOM_LINE) / ROOM_LINE;
		order[i] = order[i] * (FAR_BYTES / ROOM_LINE) + (uint32_t)line;
		if (!room_flush(room->at + (size_t)order[i] * ROOM_LINE))
			return NULL;
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return order;
}

/* Of one of these after the other. 0: cannot be said. */
static double memory_ns(const struct room *room, uint64_t *state)
{
	const uint32_t *order = far_lines(room, state);
	if (!order)
		return 0;
	uint64_t at = 0;
	double began_ns = speed_now_ns();
	for (uint32_t i = 0; i < ROOM_STEPS; i++)
		at = *(volatile uint64_t *)(void *)(room->at + (size_t)order[i] * ROOM_LINE + at);
	return (speed_now_ns() - began_ns) / ROOM_STEPS;
}

/* Of each by itself. */
static double memory_spread(const struct room *room, double mean_ns, uint64_t *state)
{
	static double ns[ROOM_STEPS];
	const uint32_t *order = far_lines(room, state);
	if (!order)
		return 0;
	for (uint32_t i = 0; i < ROOM_STEPS; i++) {
		const char *line = room->at + (size_t)order[i] * ROOM_LINE;
		double began_ns = speed_now_ns();
		(void)*(const volatile char *)line;
		ns[i] = speed_now_ns() - began_ns;
	}
	return memory_curve_spread(ns, ROOM_STEPS, mean_ns);
}

/* A ring of all lines in random order: nothing but the loads. */
static double chase_ns(const struct room *room, size_t bytes)
{
	enum { LINES_MAX = 65536 };
	static uint32_t order[LINES_MAX];
	size_t lines = bytes / ROOM_LINE < LINES_MAX ? bytes / ROOM_LINE : LINES_MAX;
	shuffle(order, lines, 1);
	for (size_t i = 0; i < lines; i++)
		*(void **)(void *)(room->at + (size_t)order[i] * ROOM_LINE) =
			room->at + (size_t)order[(i + 1) % lines] * ROOM_LINE;
	double best_ns = 0, all_ns = speed_now_ns();
	void *at = room->at;
	while (speed_now_ns() - all_ns < NEAR_NS) {
		double began_ns = speed_now_ns();
		for (int k = 0; k < ROOM_STEPS; k++)
			at = *(void *volatile *)at;
		best_ns = speed_least(best_ns, (speed_now_ns() - began_ns) / ROOM_STEPS);
	}
	memset(room->at, 0, lines * ROOM_LINE);
	return best_ns;
}

/* A set that a level has and none before it; of the second no more pages than any TLB has. */
static size_t near_bytes(const uint64_t claimed[MEMORY_LEVELS], unsigned level)
{
	size_t half = claimed[level] / 2, few = level > 0 ? 4 * claimed[level - 1] : half;
	return half < few ? half : few;
}

/* The first two levels; the least of this and what was measured before. */
static void chase_near(
	const struct room *room, const uint64_t claimed[MEMORY_LEVELS], unsigned last, double ns[2])
{
	for (unsigned i = 0; i < 2 && i <= last; i++)
		ns[i] = speed_least(ns[i], chase_ns(room, near_bytes(claimed, i)));
}

struct walked {
	double ns; /* a load */
	double age_ns; /* of the set's lines in the middle of it: since they began to be read */
};

/* Not what another program of this system interrupted, which then leaves its own lines, if it can be had without. */
static struct walked warm_walk(const struct room *room, size_t bytes, uint64_t *state)
{
	struct walked walked = { 0 };
	double away_ns = INTERRUPTED_NS;
	for (unsigned try = 0; try < ALONE_TRIES && away_ns >= INTERRUPTED_NS; try++) {
		double began_ns = speed_now_ns();
		uint64_t own_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
		room_warm(room, bytes, state);
		double warm_ns = speed_now_ns() - began_ns;
		walked.ns = room_walk_ns(room, bytes, state);
		double all_ns = speed_now_ns() - began_ns;
		walked.age_ns = (warm_ns + all_ns) / 2;
		own_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - own_ns;
		away_ns = all_ns - (double)own_ns;
	}
	return walked;
}

struct curve {
	uint64_t bytes[CURVE_MAX]; /* the last one: UINT64_MAX, memory */
	double tries[CURVE_MAX][CURVE_ROUNDS];
	double ages_ns[CURVE_MAX][CURVE_ROUNDS];
	unsigned count, rounds;
};

/*
 * All sizes in each round, so that a disturbance is not one size's. Rounds are many and short, since others disturb by the
 * tenth of a second.
 */
static void measure_curve(const struct room *room, size_t least, uint64_t *state, struct curve *ret)
{
	double began_ns = speed_now_ns();
	for (double bytes = (double)least; bytes <= (double)room->bytes * 1.001; bytes *= 1.4142135)
		if (ret->count < CURVE_MAX - 1)
			ret->bytes[ret->count++] = (uint64_t)bytes / ROOM_LINE * ROOM_LINE;
	ret->bytes[ret->count++] = UINT64_MAX;
	while (ret->rounds < CURVE_ROUNDS && speed_now_ns() - began_ns < CURVE_NS) {
		unsigned i = 0, round = ret->rounds++;
		for (; i + 1 < ret->count; i++) {
			struct walked walked = warm_walk(room, ret->bytes[i], state);
			ret->tries[i][round] = walked.ns;
			ret->ages_ns[i][round] = walked.age_ns;
		}
		ret->tries[i][round] = memory_ns(room, state);
	}
}

/* The middle: what others do to loads they do to those of programs, too. */
static double settled_ns(struct curve *curve, unsigned i)
{
	order_doubles(curve->tries[i], curve->rounds);
	return curve->tries[i][curve->rounds / 2];
}

/* How old the lines of the largest set up to that size were when it was walked through: the middle, too. */
static double age_at(struct curve *curve, uint64_t bytes)
{
	unsigned i = 0;
	while (i + 2 < curve->count && curve->bytes[i + 1] <= bytes)
		i++;
	order_doubles(curve->ages_ns[i], curve->rounds);
	return curve->ages_ns[i][curve->rounds / 2];
}

/* As often as a cache may want before it keeps what it saw. */
static void settle(const struct room *room, size_t bytes, uint64_t *state)
{
	room_warm(room, bytes, state);
	room_warm(room, bytes, state);
}

/*
 * From memory, and once more, in an order that no prefetcher knows: what programs do that use more than fits. Last levels that
 * are not inclusive keep little of what came once, and what came back often longer than what came back once: on a Xeon of 2023
 * half of 4 MiB were there after 9 ms so, after 18 ms if they had been read four times.
 */
static void bring_twice(const struct room *room, size_t bytes, uint64_t *state)
{
	enum { STRIDE = 1000003 }; /* a prime number: all lines, if it divides their number not */
	size_t lines = bytes / ROOM_LINE;
	(void)state;
	for (size_t i = 0; i < lines; i++)
		(void)room_flush(room->at + i * ROOM_LINE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < lines; i++)
			(void)*(volatile uint64_t *)(void *)(room->at +
							     i * STRIDE % lines * ROOM_LINE);
}

typedef void bring_lines(const struct room *room, size_t bytes, uint64_t *state);

/* How long a level's lines stay that nobody touches; INFINITY: longer than was waited for. */
static double one_lifetime(
	const struct room *room, size_t bytes, double far_ns, bring_lines *bring, uint64_t *state)
{
	double ns[ARRAY_SIZE(waits_ns)], lifetime_ns = 0;
	for (size_t i = 0; i < ARRAY_SIZE(waits_ns) && lifetime_ns == 0; i++) {
		bring(room, bytes, state);
		double began_ns = speed_now_ns();
		while (speed_now_ns() - began_ns < waits_ns[i])
			continue; /* at work, or the core's clock would fall */
		ns[i] = room_walk_ns(room, bytes, state);
		lifetime_ns = memory_curve_lifetime(waits_ns, ns, i + 1, far_ns);
	}
	return lifetime_ns > 0 ? lifetime_ns : INFINITY;
}

/* Others take lines away at times more, at times less: the middle. */
static double measure_lifetime(const struct room *room, const struct memory_levels *levels,
	unsigned last, bring_lines *bring, uint64_t *state)
{
	size_t bytes = levels->bytes[last] / 4;
	if (last > 0 && bytes > 4 * levels->bytes[last - 1])
		bytes = 4 * levels->bytes[last - 1];
	if (last > 0 && bytes < 2 * levels->bytes[last - 1])
		bytes = 2 * levels->bytes[last - 1];
	if (bytes == 0 || bytes > room->bytes)
		return 0;
	double tries[WAIT_ROUNDS], began_ns = speed_now_ns();
	unsigned count = 0;
	while (count < WAIT_ROUNDS && speed_now_ns() - began_ns < LIFETIME_NS)
		tries[count++] = one_lifetime(room, bytes, levels->memory_ns, bring, state);
	order_doubles(tries, count);
	return isfinite(tries[count / 2]) ? tries[count / 2] : 0;
}

/* Latencies without the little that the walk adds to each load, which the chain of pointers does not have. */
static int measure_levels(const struct machine *machine, const struct room *room, uint64_t *state,
	struct memory_speed *ret)
{
	const struct machine_topology *t = &machine->topology;
	const uint64_t claimed[MEMORY_LEVELS] = { t->l1d_bytes, t->l2_bytes, t->l3_bytes };
	if (claimed[0] == 0)
		return -EINVAL;
	AUTO_FREE struct curve *curve = calloc(1, sizeof *curve);
	if (!curve)
		return -ENOMEM;
	unsigned last = 0;
	while (last + 1 < MEMORY_LEVELS && claimed[last + 1] > 0)
		last++;
	double near_ns[] = { 0, 0 };
	chase_near(room, claimed, last, near_ns);
	measure_curve(room, claimed[0] / 2, state, curve);
	chase_near(room, claimed, last, near_ns); /* who disturbs is hardly there at both times */
	struct memory_point points[CURVE_MAX];
	double added_ns = settled_ns(curve, 0) - near_ns[0];
	double far_ns = settled_ns(curve, curve->count - 1);
	/* Without memory's own point where it cannot be measured. */
	unsigned count = far_ns > 0 ? curve->count : curve->count - 1;
	struct room_translations translations;
	room_translations(room, state, &translations);
	far_ns -= room_translation_at(&translations, (uint64_t)ROOM_STEPS * FAR_BYTES);
	for (unsigned i = 0; i < count; i++) {
		/* What takes longer than a load from memory is not in a cache. */
		bool is_far = curve->bytes[i] == UINT64_MAX;
		double ns = is_far ? far_ns
				   : settled_ns(curve, i) -
					     room_translation_at(&translations, curve->bytes[i]);
		double most_ns = count == curve->count && far_ns > 0 ? far_ns : ns;
		points[i].bytes = curve->bytes[i];
		points[i].ns = (ns < most_ns ? ns : most_ns) - (added_ns > 0 ? added_ns : 0);
	}
	int code = memory_curve_fit(points, count, claimed, &ret->levels);
	if (code < 0)
		return code;
	ret->levels.ns[0] = near_ns[0];
	if (last > 1)
		ret->levels.ns[1] = near_ns[1];
	ret->lifetime_ns = measure_lifetime(room, &ret->levels, last, bring_twice, state);
	ret->spread = memory_spread(room, ret->levels.memory_ns, state);
	/* The curve's lines had been read often. */
	double settled_ns = measure_lifetime(room, &ret->levels, last, settle, state);
	if (settled_ns > 0)
		ret->levels.bytes[last] = memory_curve_alone(ret->levels.bytes[last], claimed[last],
			age_at(curve, ret->levels.bytes[last]), settled_ns);
	return 0;
}

static void measure_paged(struct memory_speed *ret, uint64_t *state)
{
	AUTO_RELEASE(room) struct room room = { 0 };
	if (room_map(&room, PAGED_BYTES, MADV_NOHUGEPAGE) < 0)
		return;
	for (unsigned i = 0; i < MEMORY_PAGED; i++) {
		ret->paged[i].bytes = PAGED_BYTES >> i;
		ret->paged[i].more_ns = room_translation_ns(&room, PAGED_BYTES >> i, state);
	}
}

/* Four arrays side by side, once: a word of each line, or what is measured is how fast the core adds. */
static void read_streams(const struct room *room)
{
	const uint64_t *words = (const uint64_t *)(const void *)room->at;
	size_t count = room->bytes / sizeof *words / STREAMS;
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i += ROOM_LINE / sizeof *words)
		for (size_t k = 0; k < STREAMS; k++)
			sum += words[k * count + i];
	/* It may have changed for all the compiler knows, so that it is read, and read again. */
	__asm__ volatile("" : : "r"(sum) : "memory");
}

/* The best of several passes of one core. */
static double stream_rate(size_t bytes)
{
	AUTO_RELEASE(room) struct room room = { 0 };
	/* Not four arrays at the same place of their page. */
	if (room_map(&room, bytes / ROOM_PAGE * ROOM_PAGE + STREAMS * (ROOM_PAGE / 4 + ROOM_LINE),
		    0) < 0)
		return 0;
	double best_ns = 0, all_ns = speed_now_ns();
	for (int i = 0; i < CHASES && speed_now_ns() - all_ns < KIND_NS / 2; i++) {
		double began_ns = speed_now_ns();
		read_streams(&room);
		best_ns = speed_least(best_ns, speed_now_ns() - began_ns);
	}
	return best_ns > 0 ? (double)room.bytes / best_ns * 1e9 : 0;
}

/*
 * Of a quarter more than the last level has. All sizes in each round, each a few times before it counts, so that what is kept is what
 * stays.
 */
static double measure_kept(const uint64_t *sizes, unsigned last, uint64_t claimed)
{
	enum { NEAR, FAR, OVER, SIZES, ROUNDS = 20, PASSES = 4 };
	const uint64_t bytes[SIZES] = {
		[NEAR] = sizes[last] / 4, [FAR] = 4 * claimed, [OVER] = claimed / 4 * 5
	};
	AUTO_RELEASE(room) struct room room = { 0 };
	if (last == 0 || bytes[NEAR] < 2 * sizes[last - 1] || bytes[FAR] > ROOM_MOST ||
		room_map(&room, bytes[FAR], MADV_HUGEPAGE) < 0)
		return 0;
	double ns[SIZES][ROUNDS], began_ns = speed_now_ns();
	unsigned rounds = 0;
	for (; rounds < ROUNDS && speed_now_ns() - began_ns < KIND_NS; rounds++)
		for (unsigned i = 0; i < SIZES; i++) {
			const struct room part = { .at = room.at, .bytes = bytes[i] };
			for (unsigned pass = 0; pass < PASSES; pass++) {
				double pass_ns = speed_now_ns();
				read_streams(&part);
				ns[i][rounds] = (speed_now_ns() - pass_ns) / (double)bytes[i];
			}
		}
	for (unsigned i = 0; i < SIZES; i++)
		order_doubles(ns[i], rounds);
	return memory_curve_kept(ns[OVER][rounds / 2], ns[NEAR][rounds / 2], ns[FAR][rounds / 2]);
}

struct reader {
	pthread_t thread;
	double until_ns;
	size_t room_bytes;
	double bytes;
};

/* Looks at the clock itself: at a real-time priority nobody else may get a core to tell it. */
static void *read_room(void *context)
{
	struct reader *reader = context;
	AUTO_RELEASE(room) struct room room = { 0 };
	if (room_map(&room, reader->room_bytes, MADV_HUGEPAGE) < 0)
		return NULL;
	while (speed_now_ns() < reader->until_ns) {
		read_streams(&room);
		reader->bytes += (double)room.bytes;
	}
	return NULL;
}

static double measure_bandwidth(uint32_t threads, size_t all_bytes)
{
	static struct reader readers[READERS_MAX];
	uint32_t count = 0, most = threads < READERS_MAX ? threads : READERS_MAX;
	double began_ns = speed_now_ns(), bytes = 0;
	for (; count < most; count++) {
		readers[count] = (struct reader){ .until_ns = began_ns + READ_NS,
			.room_bytes = all_bytes / most };
		if (pthread_create(&readers[count].thread, NULL, read_room, &readers[count]) != 0)
			break;
	}
	for (uint32_t i = 0; i < count; i++) {
		(void)pthread_join(readers[i].thread, NULL); /* they end by themselves */
		bytes += readers[i].bytes;
	}
	return bytes / (speed_now_ns() - began_ns) * 1e9;
}

static void measure_rates(const struct machine *machine, struct memory_speed *ret)
{
	const uint64_t *sizes = ret->levels.bytes;
	unsigned last = 0;
	while (last + 1 < MEMORY_LEVELS && sizes[last + 1] > 0)
		last++;
	uint64_t before = last > 0 ? sizes[last - 1] : 0;
	size_t within = sizes[last] / 2 > 4 * before ? 4 * before : sizes[last] / 2;
	size_t without = 4 * sizes[last] > ROOM_LEAST ? 4 * sizes[last] : ROOM_LEAST;
	without = without < ROOM_MOST ? without : ROOM_MOST;
	if (last > 0)
		ret->level_bytes_per_s = stream_rate(within);
	const struct machine_topology *t = &machine->topology;
	ret->kept = measure_kept(sizes, last, last > 1 ? t->l3_bytes : t->l2_bytes);
	ret->core_bytes_per_s = stream_rate(without);
	for (int i = 0; i < 2; i++) {
		double now = measure_bandwidth(machine->usable, without);
		ret->bytes_per_s = now > ret->bytes_per_s ? now : ret->bytes_per_s;
	}
}

static double measure_fault(void)
{
	double best_ns = 0;
	for (int try = 0; try < FAULT_TRIES; try++) {
		volatile char *fresh = mmap(NULL, FAULT_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fresh == MAP_FAILED)
			return 0;
		double began_ns = speed_now_ns();
		for (size_t i = 0; i < FAULT_BYTES; i += ROOM_PAGE)
			fresh[i] = 1;
		(void)munmap((void *)fresh, FAULT_BYTES); /* it was mapped by us */
		best_ns =
			speed_least(best_ns, (speed_now_ns() - began_ns) * ROOM_PAGE / FAULT_BYTES);
	}
	return best_ns;
}

int memory_levels_measure(const struct machine *machine, struct memory_speed *ret, struct err *err)
{
	const struct machine_topology *t = &machine->topology;
	size_t bytes = 2 * (size_t)(t->l3_bytes ? t->l3_bytes : t->l2_bytes);
	bytes = bytes < ROOM_LEAST ? ROOM_LEAST : bytes > ROOM_MOST ? ROOM_MOST : bytes;
	AUTO_RELEASE(room) struct room room = { 0 };
	uint64_t state = 1;
	if (room_map(&room, bytes, MADV_HUGEPAGE) < 0 ||
		measure_levels(machine, &room, &state, ret) == -ENOMEM)
		return err_set(err, -ENOMEM, "no memory to measure caches with");
	return 0;
}

void memory_rates_measure(const struct machine *machine, struct memory_speed *ret)
{
	uint64_t state = 1;
	measure_rates(machine, ret);
	measure_paged(ret, &state);
	ret->fault_ns = measure_fault();
}
