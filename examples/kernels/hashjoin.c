/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. Hash lookups: a table with open addressing is filled by compare and exchange, then asked for
 * keys of which half are in it; short chains of loads that miss, branches on what they bring.
 */
#include "examples/kernels/common/kernel.h"

#include <omp.h>
#include <stdbool.h>

enum { KEYS = 1500000, PROBES = 8, ROOM = 2 };

struct table {
	uint64_t *keys; /* 0: free */
	size_t mask;
};

static size_t place_of(const struct table *table, uint64_t key)
{
	return (size_t)(kernel_mix(1, key) >> 20) & table->mask;
}

static void insert(struct table *table, uint64_t key)
{
	for (size_t at = place_of(table, key);; at = (at + 1) & table->mask) {
		uint64_t found = 0;
		if (__atomic_compare_exchange_n(&table->keys[at], &found, key, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			found == key)
			return;
	}
}

static bool contains(const struct table *table, uint64_t key)
{
	for (size_t at = place_of(table, key);; at = (at + 1) & table->mask) {
		if (table->keys[at] == key)
			return true;
		if (table->keys[at] == 0)
			return false;
	}
}

/* The number of a key tells it: even ones are in the table. */
static uint64_t key_of(uint64_t number)
{
	return kernel_mix(number, 0x51afd7ed558ccd25U) | 1;
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Fills and asks a hash table (OpenMP).");
	size_t count = kernel_scaled(&kernel, KEYS), places = 2;
	uint64_t found = 0;
	while (places < count * ROOM)
		places *= 2;
	struct table table = { kernel_array(places, sizeof(uint64_t)), places - 1 };
	omp_set_num_threads(kernel.threads);
	kernel_begin_work(&kernel);
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < count; i++)
		insert(&table, key_of(2 * i));
#pragma omp parallel for schedule(static) reduction(+ : found)
	for (size_t i = 0; i < count * PROBES; i++) {
		uint64_t number = kernel_mix(2, i) % (2 * count);
		found += contains(&table, key_of(number)) ? number : 0;
	}
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_mix(1, found));
}
