/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/spin_places.h"

#include "base/runtimes.h"
#include "code/spin_loop.h"

#include <sys/uio.h>

enum { PLACES_MAX = 1 << 16, PAGE = 4096 };

void spin_places_release(struct spin_places *places)
{
	map_release(&places->known);
	*places = (struct spin_places){ 0 };
}

static size_t read_memory(uint32_t pid, uint64_t from, uint64_t to, void *ret)
{
	struct iovec local = { ret, to - from };
	struct iovec remote = { (void *)(uintptr_t)from,
		to - from }; /* NOLINT(performance-no-int-to-ptr) */
	ssize_t got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);
	return got > 0 ? (size_t)got : 0;
}

/* The code around it; if a page beside its own cannot be read, of that one only. */
static uint64_t look(uint32_t pid, uint64_t at)
{
	unsigned char bytes[2 * SPIN_LOOP_BYTES];
	uint64_t from = at - SPIN_LOOP_BYTES, to = at + SPIN_LOOP_BYTES,
		 page = at & ~(uint64_t)(PAGE - 1);
	if (at < SPIN_LOOP_BYTES || to < at)
		return 0;
	size_t size = read_memory(pid, from, to, bytes);
	if (size < sizeof bytes) {
		from = from < page ? page : from;
		to = to > page + PAGE ? page + PAGE : to;
		size = read_memory(pid, from, to, bytes);
	}
	return spin_loop_find(from, bytes, size, at);
}

static uint64_t look_once(struct spin_places *places, uint32_t pid, uint64_t at)
{
	uint64_t *place = map_find(&places->known, at, pid);
	if (place)
		return *place;
	uint64_t found = look(pid, at);
	if (places->known.count < PLACES_MAX)
		(void)map_add(
			&places->known, at, pid, found, &place); /* else it is looked at again */
	return found;
}

/* The file that has the code; NULL: not known. */
static const char *file_of(const struct address_spaces *spaces, uint32_t pid, uint64_t address)
{
	const struct mapping *mapping = address_spaces_find(spaces, pid, address);
	return mapping ? spaces->modules[mapping->module] : NULL;
}

uint64_t spin_places_find(struct spin_places *places, const struct address_spaces *spaces,
	uint32_t pid, uint64_t at, const uint64_t *callers, size_t count)
{
	uint64_t found = look_once(places, pid, at);
	const char *file = found ? file_of(spaces, pid, found) : NULL;
	if (!file || !runtime_is(file))
		return found ? found + 1 : 0;
	uint64_t spinner = found + 1;
	bool is_spinner_known = runtime_spins(file);
	for (size_t i = 0; i < count; i++) {
		file = file_of(spaces, pid, callers[i]);
		if (!file || !runtime_is(file))
			return callers[i];
		if (!is_spinner_known && runtime_spins(file)) {
			spinner = callers[i];
			is_spinner_known = true;
		}
	}
	return spinner;
}
