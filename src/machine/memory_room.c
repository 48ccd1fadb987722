/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/memory_room.h"

#include "base/order.h"
#include "machine/speed_clock.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

enum {
	HUGE_PAGE = 2 << 20,
	WARM_LOADS = 200000, /* at random: several times a private cache */
	PAGED_TRIES = 13,
	PAGED_WARMS = 8, /* times ROOM_STEPS: each page of a set several times */
	OCTAVE_FIRST = 4, /* 16 pages */
};

void room_release(struct room *room)
{
	if (room->mapped)
		(void)munmap(room->mapped, room->mapped_bytes); /* it was mapped by us */
	*room = (struct room){ 0 };
}

int room_map(struct room *room, size_t bytes, int advice)
{
	size_t mapped_bytes = bytes + HUGE_PAGE;
	void *mapped = mmap(
		NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		return -ENOMEM;
	*room = (struct room){ .mapped = mapped, .bytes = bytes, .mapped_bytes = mapped_bytes };
	room->at = room->mapped + (HUGE_PAGE - (uintptr_t)mapped % HUGE_PAGE) % HUGE_PAGE;
	if (advice)
		(void)madvise(room->at, bytes, advice); /* only advice */
	memset(room->at, 0, bytes);
	return 0;
}

size_t room_next(uint64_t *state, uint64_t lines)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (size_t)((*state >> 32) * lines >> 32) * ROOM_LINE;
}

/* One line of each page of a set at random, which is as good as any to the caches. */
static double spread_ns(const struct room *room, size_t bytes, uint64_t *state)
{
	uint64_t at = 0, pages = bytes / ROOM_PAGE;
	double began_ns = speed_now_ns();
	for (unsigned i = 0; i < ROOM_STEPS; i++) {
		uint64_t page = room_next(state, pages) / ROOM_LINE;
		uint64_t line = page * UINT64_C(0x9e3779b97f4a7c15) >> 58;
		at = *(volatile uint64_t *)(void *)(room->at + page * ROOM_PAGE + line * ROOM_LINE +
						    at);
	}
	return (speed_now_ns() - began_ns) / ROOM_STEPS;
}

double room_walk_ns(const struct room *room, size_t bytes, uint64_t *state)
{
	uint64_t at = 0, lines = bytes / ROOM_LINE;
	double began_ns = speed_now_ns();
	for (unsigned i = 0; i < ROOM_STEPS; i++)
		at = *(volatile uint64_t *)(void *)(room->at + room_next(state, lines) + at);
	return (speed_now_ns() - began_ns) / ROOM_STEPS;
}

static void read_lines(const struct room *room, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += ROOM_LINE)
		(void)*(volatile uint64_t *)(void *)(room->at + i);
}

void room_warm(const struct room *room, size_t bytes, uint64_t *state)
{
	size_t lines = bytes / ROOM_LINE, count = 2 * lines < WARM_LOADS ? 2 * lines : WARM_LOADS;
	read_lines(room, bytes);
	for (size_t i = 0; i < count; i++)
		(void)*(volatile uint64_t *)(void *)(room->at + room_next(state, lines));
}

double room_translation_ns(const struct room *room, size_t bytes, uint64_t *state)
{
	double spread[PAGED_TRIES], dense[PAGED_TRIES];
	size_t dense_bytes = bytes / ROOM_PAGE * ROOM_LINE;
	for (unsigned try = 0; try < PAGED_TRIES; try++) {
		for (unsigned warms = 0; warms < PAGED_WARMS; warms++)
			(void)spread_ns(room, bytes, state);
		spread[try] = spread_ns(room, bytes, state);
		room_warm(room, dense_bytes, state);
		dense[try] = room_walk_ns(room, dense_bytes, state);
	}
	order_doubles(spread, PAGED_TRIES);
	order_doubles(dense, PAGED_TRIES);
	double more_ns = spread[PAGED_TRIES / 4] - dense[PAGED_TRIES / 4];
	return more_ns > 0 ? more_ns : 0;
}

bool room_flush(void *at)
{
#if defined(__x86_64__)
	__builtin_ia32_clflush(at);
	return true;
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
	return true;
#else
	(void)at;
	return false;
#endif
}

void room_translations(const struct room *room, uint64_t *state, struct room_translations *ret)
{
	for (unsigned i = 0; i < ROOM_OCTAVES; i++)
		ret->ns[i] =
			room_translation_ns(room, (size_t)ROOM_PAGE << (OCTAVE_FIRST + i), state);
}

double room_translation_at(const struct room_translations *translations, uint64_t bytes)
{
	double at = log2((double)bytes / ROOM_PAGE) - OCTAVE_FIRST;
	if (at <= 0)
		return translations->ns[0];
	if (at >= ROOM_OCTAVES - 1)
		return translations->ns[ROOM_OCTAVES - 1];
	unsigned i = (unsigned)at;
	double part = at - i;
	return (1 - part) * translations->ns[i] + part * translations->ns[i + 1];
}
