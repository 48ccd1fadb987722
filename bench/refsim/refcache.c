/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/refcache.h"

#include <errno.h>
#include <stdlib.h>

enum { LINE_BITS = 6, LINE_BYTES = 1 << LINE_BITS };

enum state { INVALID, SHARED, EXCLUSIVE, MODIFIED };

struct way {
	uint64_t line;
	uint64_t used; /* clock of its last use */
	uint32_t state;
};

/* One cache: sets of ways. */
struct array {
	struct way *ways;
	uint64_t sets;
	uint32_t per_set;
};

struct refcache {
	uint32_t cores, levels, private_levels;
	uint32_t shared_by[PROCESSOR_LEVELS_MAX];
	struct array *data[PROCESSOR_LEVELS_MAX]; /* by core or group of cores */
	struct array *instruction; /* by core */
	struct refcache_counts *data_counts, *fetch_counts; /* by core */
	uint64_t clock;
};

static int array_init(struct array *array, const struct cache *cache, struct err *err)
{
	uint64_t lines = cache->bytes / LINE_BYTES;
	uint32_t ways = cache->ways ? cache->ways : (uint32_t)lines;
	if (lines == 0 || ways == 0 || lines % ways != 0)
		return err_set(err, -EINVAL, "a cache of %llu bytes cannot have %u ways",
			(unsigned long long)cache->bytes, cache->ways);
	*array = (struct array){ .sets = lines / ways, .per_set = ways };
	array->ways = calloc(lines, sizeof(*array->ways));
	return array->ways ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static uint32_t groups_of(const struct refcache *caches, uint32_t level)
{
	return (caches->cores + caches->shared_by[level] - 1) / caches->shared_by[level];
}

static int level_init(
	struct refcache *caches, uint32_t level, const struct cache *cache, struct err *err)
{
	uint32_t groups = groups_of(caches, level);
	caches->data[level] = calloc(groups, sizeof(struct array));
	if (!caches->data[level])
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t group = 0; group < groups; group++) {
		int code = array_init(&caches->data[level][group], cache, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int core_arrays_init(
	struct refcache *caches, const struct processor *processor, struct err *err)
{
	caches->instruction = calloc(caches->cores, sizeof(*caches->instruction));
	caches->data_counts = calloc(caches->cores, sizeof(*caches->data_counts));
	caches->fetch_counts = calloc(caches->cores, sizeof(*caches->fetch_counts));
	if (!caches->instruction || !caches->data_counts || !caches->fetch_counts)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t core = 0; core < caches->cores; core++) {
		int code = array_init(&caches->instruction[core], &processor->instruction, err);
		if (code < 0)
			return code;
	}
	return 0;
}

int refcache_new(
	const struct processor *processor, uint32_t cores, struct refcache **ret, struct err *err)
{
	AUTO(refcache) struct refcache *caches = calloc(1, sizeof(*caches));
	if (!caches)
		return err_set(err, -ENOMEM, "out of memory");
	caches->cores = cores;
	caches->levels = processor->level_count;
	int code = core_arrays_init(caches, processor, err);
	for (uint32_t level = 0; code == 0 && level < caches->levels; level++) {
		const struct cache *cache = &processor->levels[level];
		caches->shared_by[level] = cache->shared_by ? cache->shared_by : 1;
		if (processor->cores > 1 && cache->shared_by >= processor->cores)
			caches->shared_by[level] = cores; /* all share it, however many threads */
		if (caches->shared_by[level] == 1)
			caches->private_levels = level + 1;
		code = level_init(caches, level, cache, err);
	}
	if (code == 0)
		*ret = TAKE(caches);
	return code;
}

void refcache_free(struct refcache *caches)
{
	if (!caches)
		return;
	for (uint32_t level = 0; level < caches->levels; level++) {
		for (uint32_t i = 0; caches->data[level] && i < groups_of(caches, level); i++)
			free(caches->data[level][i].ways);
		free(caches->data[level]);
	}
	for (uint32_t core = 0; caches->instruction && core < caches->cores; core++)
		free(caches->instruction[core].ways);
	free(caches->instruction);
	free(caches->data_counts);
	free(caches->fetch_counts);
	free(caches);
}

static struct array *array_of(const struct refcache *caches, uint32_t level, uint32_t core)
{
	return &caches->data[level][core / caches->shared_by[level]];
}

static struct way *array_find(const struct array *array, uint64_t line)
{
	struct way *set = &array->ways[line % array->sets * array->per_set];
	for (uint32_t i = 0; i < array->per_set; i++)
		if (set[i].state != INVALID && set[i].line == line)
			return &set[i];
	return NULL;
}

/* The way that a line comes into: an empty one, or the one used least recently. */
static struct way *array_victim(const struct array *array, uint64_t line)
{
	struct way *set = &array->ways[line % array->sets * array->per_set];
	struct way *victim = set;
	for (uint32_t i = 0; i < array->per_set; i++) {
		if (set[i].state == INVALID)
			return &set[i];
		if (set[i].used < victim->used)
			victim = &set[i];
	}
	return victim;
}

/* What evicted or taken lines carry back: to the next level that has the line, else to memory. */
static void write_back(struct refcache *caches, uint32_t core, uint32_t level, uint64_t line)
{
	for (uint32_t outer = level + 1; outer < caches->levels; outer++) {
		struct way *way = array_find(array_of(caches, outer, core), line);
		if (way) {
			way->state = MODIFIED;
			return;
		}
	}
	caches->data_counts[core].writes_back++;
}

static void fill(
	struct refcache *caches, uint32_t core, uint32_t level, uint64_t line, enum state state)
{
	struct way *way = array_victim(array_of(caches, level, core), line);
	if (way->state == MODIFIED)
		write_back(caches, core, level, way->line);
	*way = (struct way){ line, caches->clock, state };
}

/* What the other cores have in their private levels becomes `state`. True if one had written it. */
static bool take_from_others(
	struct refcache *caches, uint32_t core, uint64_t line, enum state state, bool *ret_had)
{
	bool was_modified = false;
	for (uint32_t other = 0; other < caches->cores; other++) {
		for (uint32_t level = 0; other != core && level < caches->private_levels; level++) {
			struct way *way = array_find(array_of(caches, level, other), line);
			if (!way)
				continue;
			*ret_had = true;
			was_modified |= way->state == MODIFIED;
			way->state = state;
		}
	}
	return was_modified;
}

/* The state of a line that this core has in a private level; INVALID: in none. */
static enum state own_state(const struct refcache *caches, uint32_t core, uint64_t line)
{
	enum state most = INVALID;
	for (uint32_t level = 0; level < caches->private_levels; level++) {
		const struct way *way = array_find(array_of(caches, level, core), line);
		if (way && way->state > most)
			most = (enum state)way->state;
	}
	return most;
}

static void set_own_state(struct refcache *caches, uint32_t core, uint64_t line, enum state state)
{
	for (uint32_t level = 0; level < caches->private_levels; level++) {
		struct way *way = array_find(array_of(caches, level, core), line);
		if (way)
			way->state = state;
	}
}

/* The first level from `level` on that has the line; its use is noted. */
static uint32_t look_up(struct refcache *caches, uint32_t core, uint64_t line)
{
	for (uint32_t level = 0; level < caches->levels; level++) {
		struct way *way = array_find(array_of(caches, level, core), line);
		if (way) {
			way->used = caches->clock;
			return level;
		}
	}
	return caches->levels;
}

static struct refcache_found access_data(
	struct refcache *caches, uint32_t core, uint64_t line, bool is_write)
{
	struct refcache_found found = { .level = look_up(caches, core, line) };
	enum state own = own_state(caches, core, line);
	bool others_have = false;
	if (is_write && own < EXCLUSIVE) {
		found.is_transfer = take_from_others(caches, core, line, INVALID, &others_have);
		found.is_upgrade = own == SHARED && others_have;
	}
	if (!is_write && own == INVALID)
		found.is_transfer = take_from_others(caches, core, line, SHARED, &others_have);
	enum state state = own;
	if (is_write)
		state = MODIFIED;
	else if (own == INVALID)
		state = others_have ? SHARED : EXCLUSIVE;
	for (uint32_t level = 0; level < found.level && level < caches->levels; level++)
		fill(caches, core, level, line, level < caches->private_levels ? state : SHARED);
	set_own_state(caches, core, line, state);
	return found;
}

static struct refcache_found access_instruction(
	struct refcache *caches, uint32_t core, uint64_t line)
{
	struct array *array = &caches->instruction[core];
	struct way *way = array_find(array, line);
	if (way) {
		way->used = caches->clock;
		return (struct refcache_found){ 0 };
	}
	*array_victim(array, line) = (struct way){ line, caches->clock, SHARED };
	uint32_t level = 1;
	for (; level < caches->levels; level++) {
		way = array_find(array_of(caches, level, core), line);
		if (way) {
			way->used = caches->clock;
			break;
		}
	}
	for (uint32_t inner = 1; inner < level && inner < caches->levels; inner++)
		fill(caches, core, inner, line, SHARED);
	return (struct refcache_found){ .level = level };
}

struct refcache_found refcache_access(
	struct refcache *caches, uint32_t core, uint64_t address, enum refcache_kind kind)
{
	uint64_t line = address >> LINE_BITS;
	caches->clock++;
	struct refcache_counts *counts =
		kind == REFCACHE_FETCH ? caches->fetch_counts : caches->data_counts;
	struct refcache_found found =
		kind == REFCACHE_FETCH ? access_instruction(caches, core, line)
				       : access_data(caches, core, line, kind == REFCACHE_WRITE);
	counts[core].accesses++;
	counts[core].found[found.level]++;
	counts[core].transfers += found.is_transfer;
	return found;
}

struct refcache_found refcache_prefetch(struct refcache *caches, uint32_t core, uint64_t address)
{
	caches->clock++;
	return access_data(caches, core, address >> LINE_BITS, false);
}

uint32_t refcache_level(const struct refcache *caches, uint32_t core, uint64_t address)
{
	uint32_t level = 0;
	while (level < caches->levels &&
		!array_find(array_of(caches, level, core), address >> LINE_BITS))
		level++;
	return level;
}

struct refcache_counts refcache_data(const struct refcache *caches, uint32_t core)
{
	return caches->data_counts[core];
}

struct refcache_counts refcache_fetches(const struct refcache *caches, uint32_t core)
{
	return caches->fetch_counts[core];
}
