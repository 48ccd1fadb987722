/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/core_memory.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LONG_AGO = -1000000,
	INTERVALS = 8, /* of which a mean is taken */
	STREAMS_MEASURED = 4, /* by machine/memory_speed.c */
};

static struct core_shared unseen(uint16_t name)
{
	return (struct core_shared){
		.name = name, .asked = LONG_AGO, .fill = LONG_AGO, .seen = LONG_AGO
	};
}

static double cycles(const struct processor *processor, double ns)
{
	return ns * processor->frequency_hz / 1e9;
}

/* Cycles from one line to the next at so many bytes a second; 0: no limit. */
static double gap_of(const struct processor *processor, double bytes_per_s)
{
	return bytes_per_s > 0 ? PROFILE_LINE_BYTES * processor->frequency_hz / bytes_per_s : 0;
}

/*
 * How far apart prefetched lines are that come through `missed` levels. What a core was measured to stream from there, of STREAMS_MEASURED arrays side by
 * side, counts, whatever its prefetcher is taken to ask for ahead: that it did.
 */
static void set_gaps(struct core_memory *memory, struct core_service *service)
{
	const struct processor *processor = memory->processor;
	uint32_t outermost = service->missed > 1 ? service->missed - 1 : 0;
	uint32_t from = service->missed > 1 ? 1 : 0, room = 0;
	for (uint32_t level = from; level <= outermost; level++)
		if (memory->room[level] && (!room || memory->room[level] < room))
			room = memory->room[level];
	double latency = (double)service->latency, measured = 0;
	uint32_t distance = processor->prefetch_distance ? processor->prefetch_distance : 1;
	service->stream_gap = latency / distance;
	service->level_gap = room ? latency / room : 0;
	if (service->component == CORE_MEMORY || service->component == CORE_COHERENCE)
		measured = gap_of(processor, processor->core_bytes_per_s);
	else
		measured = gap_of(processor, processor->levels[service->missed].bytes_per_s);
	if (measured > 0) {
		service->level_gap = measured;
		service->stream_gap = fmin(service->stream_gap, STREAMS_MEASURED * measured);
	}
	if (service->component == CORE_MEMORY)
		service->level_gap =
			fmax(service->level_gap, gap_of(processor, processor->memory_bytes_per_s));
}

/*
 * Lines that come into one set of the first level come one after the other, and those that further levels have not, too, mostly into one
 * of theirs. Lines that other cores have go by their own rules.
 */
static uint32_t set_gap_of(const struct processor *processor, const struct core_service *service)
{
	uint32_t gap = 0;
	if (service->component == CORE_COHERENCE)
		return 0;
	for (uint32_t level = 0; level < service->missed; level++)
		if (processor->levels[level].same_set > gap)
			gap = processor->levels[level].same_set;
	return gap;
}

static void set_service(struct core_memory *memory, uint32_t index, double latency, uint32_t missed,
	enum core_component component)
{
	struct core_service *service = &memory->services[index];
	*service = (struct core_service){
		.latency = (int64_t)(latency + 0.5), .missed = missed, .component = component
	};
	if (service->latency < memory->hit_latency)
		service->latency = memory->hit_latency;
	set_gaps(memory, service);
	service->set_gap = set_gap_of(memory->processor, service);
}

static void set_services(struct core_memory *memory, double memory_cycles)
{
	const struct processor *processor = memory->processor;
	uint32_t last = processor->level_count - 1;
	double far = cycles(processor, processor->memory_ns);
	set_service(memory, CORE_FROM_MEMORY, memory_cycles > 0 ? memory_cycles : far,
		processor->level_count, CORE_MEMORY);
	set_service(memory, CORE_FROM_CORE, cycles(processor, processor->transfer_ns), last,
		CORE_COHERENCE);
	for (uint32_t level = last; level > 0; level--)
		set_service(memory, CORE_FROM_LEVEL + last - level,
			cache_latency_cycles(&processor->levels[level], processor), level,
			level == last ? CORE_LLC : CORE_L2);
	memory->service_count = CORE_FROM_LEVEL + last;
}

void core_memory_init(struct core_memory *memory, const struct processor *processor)
{
	*memory = (struct core_memory){ .processor = processor };
	memory->hit_latency =
		(int64_t)(cache_latency_cycles(&processor->levels[0], processor) + 0.5);
	for (uint32_t level = 0; level < processor->level_count; level++)
		if (processor->levels[level].misses <= CORE_MISSES_MAX)
			memory->room[level] = processor->levels[level].misses;
	memory->hold = (int64_t)(cycles(processor, processor->hold_ns) + 0.5);
	memory->turn = cycles(
		processor, processor->turn_ns > 0 ? processor->turn_ns : processor->transfer_ns);
	double walk = cycles(processor, processor->tlb.walk_ns);
	memory->walk_latency[CORE_WALK] = (int64_t)(walk + 0.5);
	memory->walk_latency[CORE_SECOND_TLB] = processor->tlb.second_latency;
	if (processor->waiting_loads <= CORE_MISSES_MAX)
		memory->waiting_room = processor->waiting_loads;
	memory->walks = processor->tlb.walks <= CORE_MISSES_MAX ? processor->tlb.walks : 0;
	const struct cache *first = &processor->levels[0];
	uint64_t sets = first->ways > 0 ? first->bytes / PROFILE_LINE_BYTES / first->ways : 1;
	while (sets >> 1 > memory->set_mask && memory->set_mask < CORE_SETS - 1)
		memory->set_mask = (uint8_t)(2 * memory->set_mask + 1);
}

void core_memory_release(struct core_memory *memory)
{
	free(memory->thresholds);
	free(memory->stream_fill);
	free(memory->lines);
	free(memory->page_thresholds);
	free(memory->pages);
	*memory = (struct core_memory){ 0 };
}

/*
 * Of `count` accesses the share `odds` misses. First touches in a trace miss before touches of lines that the trace
 * had already: those only as far as there are more misses than first touches (lines taken by other cores).
 */
static void set_threshold(
	uint32_t accesses, uint32_t firsts, double odds, float *ret_first, float *ret_later)
{
	double misses = odds * accesses, others = accesses - firsts;
	double first = firsts > 0 ? misses / firsts : 0;
	first = first < 1 ? first : 1;
	*ret_first = (float)first;
	*ret_later = others > 0 ? (float)((misses - first * firsts) / others) : 0;
}

static void set_page_thresholds(const struct core_slot *slot, const struct core_odds *odds,
	struct core_page_thresholds *thresholds)
{
	for (unsigned i = 0; i < CORE_TRANSLATIONS; i++)
		set_threshold(slot->accesses, slot->page_firsts, odds->untranslated[i == CORE_WALK],
			&thresholds->first[i], &thresholds->later[i]);
}

/* Of m writes that come at random meanwhile, at least one does with 1 - exp(-m). */
static double writes_of(double share)
{
	return share < 1 ? -log1p(-share) : HUGE_VAL;
}

static void set_thresholds(struct core_memory *memory, const struct core_slot *slot,
	const struct core_odds *odds, double writers, struct core_thresholds *thresholds)
{
	uint32_t last = memory->processor->level_count - 1;
	double sum = 0;
	for (uint32_t s = 0; s < memory->service_count; s++) {
		double least = sum;
		if (s == CORE_FROM_MEMORY)
			sum = odds->beyond[last];
		else if (s == CORE_FROM_CORE)
			sum += odds->transfer;
		else
			sum = odds->beyond[last - 1 - (s - CORE_FROM_LEVEL)];
		sum = sum > least ? sum : least;
		sum = sum < 1 ? sum : 1;
		set_threshold(slot->accesses, slot->firsts, sum, &thresholds->first[s],
			&thresholds->later[s]);
	}
	double others = writers > 0 ? writers : writes_of(odds->transfer);
	double most = memory->processor->cores > 2 ? memory->processor->cores - 1 : 1;
	/* Accesses whose intervals are seen are those that come again in a trace. */
	thresholds->written = (float)writes_of(
		(double)(thresholds->later[CORE_FROM_CORE] - thresholds->later[CORE_FROM_MEMORY]));
	thresholds->passed = (float)(others < 1 ? 1 : others < most ? others : most);
}

int core_memory_start(struct core_memory *memory, const struct core_program *program,
	const struct core_class *class, const struct core_input *input)
{
	int rc = mem_grow(&memory->thresholds, &memory->slot_capacity, program->slots_max + 1,
		sizeof(*memory->thresholds));
	if (rc == 0)
		rc = mem_grow(&memory->stream_fill, &memory->stream_capacity,
			program->slots_max + 1, sizeof(*memory->stream_fill));
	if (rc == 0)
		rc = mem_grow(&memory->lines, &memory->line_capacity, program->lines_max + 1,
			sizeof(*memory->lines));
	if (rc == 0)
		rc = mem_grow(&memory->page_thresholds, &memory->page_slot_capacity,
			program->slots_max + 1, sizeof(*memory->page_thresholds));
	if (rc == 0)
		rc = mem_grow(&memory->pages, &memory->page_capacity, program->pages_max + 1,
			sizeof(*memory->pages));
	if (rc != 0)
		return rc;
	set_services(memory, input->memory_cycles);
	for (size_t i = 0; i < class->slot_count; i++) {
		set_thresholds(memory, &program->slots[class->slot + i], &input->odds[i],
			input->writers, &memory->thresholds[i]);
		set_page_thresholds(&program->slots[class->slot + i], &input->odds[i],
			&memory->page_thresholds[i]);
		memory->stream_fill[i] = 0;
	}
	memset(memory->busy_until, 0, sizeof(memory->busy_until));
	memset(memory->waiting, 0, sizeof(memory->waiting));
	memset(memory->level_fill, 0, sizeof(memory->level_fill));
	memset(memory->set_fill, 0, sizeof(memory->set_fill));
	for (uint32_t i = 0; i < CORE_SHARED_LINES; i++)
		memory->shared[i] = unseen(0);
	memset(memory->walkers, 0, sizeof(memory->walkers));
	memory->lines_fetched = memory->fetch_cycles = memory->busy_cycles = 0;
	memory->memory_until = 0;
	rng_init(&memory->spread, 1);
	memory->prefetched = memory->prefetches_used = 0;
	return 0;
}

void core_memory_start_trace(struct core_memory *memory, const struct core_trace *trace)
{
	memset(memory->lines, 0, trace->lines * sizeof(*memory->lines));
	memset(memory->pages, 0, trace->pages * sizeof(*memory->pages));
	memory->translated = NULL;
}

/*
 * The earliest start at which one of so many places is free. Among the places that are free by then, the one that became free last,
 * so that a chain of misses uses one place and leaves the others to what does not depend on it.
 */
static int64_t *find_place(int64_t *places, uint32_t count, int64_t *start)
{
	int64_t *best = &places[0];
	for (uint32_t i = 1; i < count; i++) {
		bool fits = places[i] <= *start, best_fits = *best <= *start;
		if (fits == best_fits ? (fits ? places[i] > *best : places[i] < *best) : fits)
			best = &places[i];
	}
	if (*best > *start)
		*start = *best;
	return best;
}

/*
 * Memory does not take as long each time: what waits for one line after the other takes the mean, who needs all of many that are under
 * way at once the longest of them.
 */
static int64_t latency_of(struct core_memory *memory, const struct core_service *service)
{
	double spread = memory->processor->memory_spread;
	if (service->component != CORE_MEMORY || spread == 0)
		return service->latency;
	double drawn = 1 - spread - spread * log1p(-rng_uniform(&memory->spread));
	return (int64_t)((double)service->latency * drawn + 0.5);
}

static int64_t fetch(struct core_memory *memory, const struct core_service *service, int64_t start)
{
	int64_t *places[PROCESSOR_LEVELS_MAX] = { NULL };
	for (uint32_t level = 0; level < service->missed; level++)
		if (memory->room[level])
			places[level] =
				find_place(memory->busy_until[level], memory->room[level], &start);
	int64_t fill = start + latency_of(memory, service);
	memory->drawn = fill - start;
	for (uint32_t level = 0; level < service->missed; level++)
		if (places[level])
			*places[level] = fill;
	if (service->component != CORE_MEMORY)
		return fill;
	int64_t from = start > memory->memory_until ? start : memory->memory_until;
	if (fill > from) {
		memory->busy_cycles += (double)(fill - from);
		memory->memory_until = fill;
	}
	memory->fetch_cycles += (double)memory->drawn;
	return fill;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

/* Nobody knows that there is a stream before its first access. */
static int64_t fetch_stream(
	struct core_memory *memory, const struct core_access *access, uint32_t index, int64_t start)
{
	const struct core_service *service = &memory->services[index];
	double ahead = (double)(start - service->latency);
	if (access->run_back > 0) {
		const struct core_access *first = access - access->run_back;
		ahead = later(
			ahead, (double)(memory->lines[first->line].touched + service->latency));
	}
	double *stream = &memory->stream_fill[access->slot], *level = &memory->level_fill[index];
	*stream = later(*stream, ahead) + service->stream_gap;
	*level = later(*level, ahead) + service->level_gap;
	*stream = later(*stream, *level);
	return (int64_t)(*stream + 0.5);
}

int64_t core_memory_translate(struct core_memory *memory, const struct core_access *access,
	int64_t start, enum core_component *ret_component)
{
	*ret_component = CORE_BASE;
	if (memory->processor->tlb.entries == 0)
		return start;
	struct core_page *page = &memory->pages[access->page];
	const struct core_page_thresholds *thresholds = &memory->page_thresholds[access->slot];
	const float *odds = access->is_first_page ? thresholds->first : thresholds->later;
	unsigned by = access == memory->translated ? CORE_TRANSLATIONS : 0;
	while (by < CORE_TRANSLATIONS && access->page_draw >= odds[by])
		by++;
	memory->translated = access;
	if (by < CORE_TRANSLATIONS) {
		int64_t from = start;
		int64_t *walker = by == CORE_WALK && memory->walks > 0
					  ? find_place(memory->walkers, memory->walks, &from)
					  : NULL;
		page->latency = memory->walk_latency[by];
		page->ready = from + page->latency;
		if (walker)
			*walker = page->ready;
	}
	int64_t ready = page->ready;
	/* As of lines below. */
	if (ready > start + page->latency && by == CORE_TRANSLATIONS)
		ready = start + page->latency;
	if (ready <= start)
		return start;
	*ret_component = CORE_TLB;
	return ready;
}

/* NULL: its line is not known to be written by others. */
static struct core_shared *find_shared(struct core_memory *memory, const struct core_access *access)
{
	struct core_shared *shared = &memory->shared[access->name % CORE_SHARED_LINES];
	return shared->name == access->name ? shared : NULL;
}

/* In the place of another line. */
static struct core_shared *take_shared(struct core_memory *memory, const struct core_access *access)
{
	struct core_shared *shared = &memory->shared[access->name % CORE_SHARED_LINES];
	if (shared->name != access->name)
		*shared = unseen(access->name);
	return shared;
}

/* An access to a line by an instruction that finds it gone at times: how often others write it. */
static void see_shared(struct core_memory *memory, const struct core_access *access, int64_t start)
{
	float written = memory->thresholds[access->slot].written;
	if (written <= 0)
		return;
	struct core_shared *shared = take_shared(memory, access);
	shared->written = written;
	double gap = (double)(start - shared->seen);
	if (gap < 0)
		return; /* of a load that ran ahead */
	if (shared->interval > 0)
		shared->interval += (gap - shared->interval) / INTERVALS;
	else if (shared->seen != LONG_AGO && gap > 0)
		shared->interval = gap;
	shared->seen = start;
}

/* Others want it, and have not got it yet: who waits for it or comes soon after it is served. */
static bool is_held(
	const struct core_memory *memory, const struct core_shared *shared, int64_t start)
{
	return shared->is_wanted && start <= shared->fill + memory->hold;
}

/*
 * When it comes back to who asked for it at `start`. Others have got it half way on average, and it has to have come to each of them. Who
 * wants it asks while it comes: he gets it when it is held no longer, and what he holds it for is most of the way.
 */
static int64_t back_at(const struct core_memory *memory, const struct core_shared *shared,
	int64_t start, double others, int64_t latency)
{
	if (shared->is_wanted && memory->hold > 0)
		return shared->fill + memory->hold + (int64_t)(others * memory->turn);
	return shared->fill + (start - shared->fill) / 2 + (int64_t)(others * (double)latency) +
	       latency;
}

/*
 * Since the line came the last time, others have written it. What is asked for while it comes is served by that coming: all stores that wait for a line
 * are done when it is there, before it goes on. A load that started before a store that is older asked found it here. An access that
 * asked at `asked` is served from `start` on.
 */
static void fetch_shared(struct core_memory *memory, const struct core_access *access,
	const struct core_service *service, int64_t asked, int64_t start, struct core_line *line)
{
	struct core_shared *shared = take_shared(memory, access);
	double passed = (double)memory->thresholds[access->slot].passed;
	if (shared->passed > 0)
		passed = (double)shared->passed;
	shared->passed = 0;
	if (start > shared->fill && !is_held(memory, shared, start)) {
		int64_t back = back_at(memory, shared, start, passed, service->latency);
		int64_t fill = fetch(memory, service, start);
		shared->asked = asked;
		shared->served = 1;
		shared->fill = fill > back ? fill : back;
		double came = (double)(shared->fill - start);
		shared->is_wanted =
			shared->interval > 0 && came * (double)shared->written > shared->interval;
	}
	line->asked = shared->asked;
	line->fill = shared->fill;
}

/* Index of who serves an access; service_count: the first level. */
static uint32_t service_of(const struct core_memory *memory, const struct core_access *access)
{
	const struct core_thresholds *thresholds = &memory->thresholds[access->slot];
	const float *odds = access->is_first ? thresholds->first : thresholds->later;
	uint32_t s = 0;
	while (s < memory->service_count && access->draw >= odds[s])
		s++;
	return s;
}

/* The processor asks for it ahead; not for a line that was here, and that another core has taken. */
static bool is_expected(
	const struct core_memory *memory, const struct core_access *access, uint32_t s)
{
	return access->is_stream && memory->processor->prefetch == PREFETCH_STRIDE &&
	       (s != CORE_FROM_CORE || access->is_first);
}

/* When the line that this one comes with was asked for, if that is earlier: a prefetcher has asked for both then. */
static int64_t asked_near(
	const struct core_memory *memory, const struct core_access *access, int64_t start)
{
	const struct processor *processor = memory->processor;
	if (access->near_back == 0 || access->near_lines > (int)processor->region_ahead ||
		-access->near_lines > (int)processor->region_behind)
		return start;
	int64_t touched = memory->lines[access[-(ptrdiff_t)access->near_back].line].touched;
	return touched < start ? touched : start;
}

void core_memory_prefetch(struct core_memory *memory, int64_t at)
{
	memory->prefetches[memory->prefetched++ % CORE_PREFETCHES] = at;
	if (memory->prefetched - memory->prefetches_used > CORE_PREFETCHES)
		memory->prefetches_used++;
}

int64_t core_memory_asked(struct core_memory *memory, const struct core_access *access, int64_t at)
{
	uint32_t s = service_of(memory, access);
	if (memory->prefetches_used == memory->prefetched || s == memory->service_count)
		return at;
	int64_t asked = memory->prefetches[memory->prefetches_used++ % CORE_PREFETCHES];
	return asked < at && !is_expected(memory, access, s) ? asked : at;
}

bool core_memory_is_taken(
	struct core_memory *memory, const struct core_access *access, int64_t start, int64_t turn)
{
	const struct core_shared *shared = take_shared(memory, access);
	double passed = (double)memory->thresholds[access->slot].passed;
	return service_of(memory, access) == CORE_FROM_CORE &&
	       (double)(turn - start) * passed > (double)(start - shared->fill);
}

/* A place for a load that would wait for its line; it starts when there is one. NULL: it need not, or there is no limit. */
static int64_t *place_to_wait(
	struct core_memory *memory, const struct core_access *access, uint32_t s, int64_t *start)
{
	bool waits = s < memory->service_count
			     ? !is_expected(memory, access, s)
			     : memory->lines[access->line].fill > *start + memory->hit_latency;
	return waits && memory->waiting_room > 0
		       ? find_place(memory->waiting, memory->waiting_room, start)
		       : NULL;
}

int64_t core_memory_skip(
	struct core_memory *memory, const struct core_access *access, int64_t start)
{
	int64_t *place = place_to_wait(memory, access, memory->service_count, &start);
	if (place)
		*place = memory->lines[access->line].fill;
	see_shared(memory, access, start);
	if (service_of(memory, access) == CORE_FROM_CORE) {
		struct core_shared *shared = take_shared(memory, access);
		if (memory->hold == 0 || !is_held(memory, shared, start))
			shared->passed = memory->thresholds[access->slot].passed;
	}
	return start;
}

static bool has_gone(struct core_memory *memory, const struct core_access *access, int64_t start)
{
	const struct core_shared *shared = find_shared(memory, access);
	return shared &&
	       (shared->passed > 0 || (shared->is_wanted && !is_held(memory, shared, start)));
}

static int64_t fill_set(struct core_memory *memory, const struct core_access *access,
	const struct core_service *service, int64_t fill)
{
	int64_t *last = &memory->set_fill[access->set & memory->set_mask];
	*last = fill > *last + service->set_gap ? fill : *last + service->set_gap;
	return *last;
}

/* When the line can be asked for again of which others take their turn although this access waits for it; 0: they do not. */
static int64_t next_turn(
	struct core_memory *memory, const struct core_access *access, int64_t start)
{
	uint32_t stay = memory->processor->stay;
	struct core_shared *shared = stay > 0 ? find_shared(memory, access) : NULL;
	if (!shared || !is_held(memory, shared, start))
		return 0;
	return ++shared->served > stay ? shared->fill + memory->hold + 1 : 0;
}

/* Used again and again, by others, too: such a line goes by the stores that wait for it (fetch_shared()). */
static bool is_fought_for(struct core_memory *memory, const struct core_access *access)
{
	const struct core_shared *shared = find_shared(memory, access);
	return shared && shared->interval > 0;
}

/* A store to a line that was read from another core, which keeps a copy until it is told. */
static int64_t own_line(struct core_memory *memory, struct core_line *line, int64_t start)
{
	if (line->is_copy)
		line->owned = fetch(memory, &memory->services[CORE_FROM_CORE],
			line->fill > start ? line->fill : start);
	line->is_copy = false;
	return line->owned;
}

int64_t core_memory_access(struct core_memory *memory, const struct core_access *access,
	bool for_store, int64_t start, enum core_component *ret_component)
{
	struct core_line *line = &memory->lines[access->line];
	uint32_t s = service_of(memory, access);
	int64_t *place = for_store ? NULL : place_to_wait(memory, access, s, &start);
	see_shared(memory, access, start);
	if (access->is_first)
		line->touched = start;
	int64_t turn = next_turn(memory, access, start);
	if (turn > 0 || (s != CORE_FROM_MEMORY && has_gone(memory, access, start)))
		s = CORE_FROM_CORE;
	if (s < memory->service_count) {
		const struct core_service *service = &memory->services[s];
		line->latency = service->latency;
		if (turn == 0 && is_expected(memory, access, s)) {
			line->fill = fetch_stream(memory, access, s, start);
		} else if (s == CORE_FROM_CORE) {
			fetch_shared(memory, access, service, start, turn > 0 ? turn : start, line);
		} else {
			line->fill = fetch(memory, service, asked_near(memory, access, start));
			line->latency = memory->drawn;
		}
		if (service->set_gap > 0)
			line->fill = fill_set(memory, access, service, line->fill);
		line->component = service->component;
		line->is_copy = s == CORE_FROM_CORE && !for_store && !is_fought_for(memory, access);
		memory->lines_fetched += s == CORE_FROM_MEMORY;
	}
	int64_t hit = start + memory->hit_latency, fill = line->fill;
	/* Its line is under way for an access that is older and yet started later. */
	if (line->component == CORE_COHERENCE)
		fill = start < line->asked ? 0 : fill;
	else if (fill > start + line->latency && s == memory->service_count)
		fill = start + line->latency;
	if (for_store && own_line(memory, line, start) > fill)
		fill = line->owned;
	*ret_component = fill > hit ? line->component : CORE_BASE;
	if (place)
		*place = fill;
	return fill > hit ? fill : hit;
}
