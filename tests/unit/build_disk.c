/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disks: what a recording says of a device, from waits for files or from what the kernel told of requests. */
#include "build_script.h"

#include "base/rng.h"

/* The reads of eight threads at a device of `parallel` servers, 100 us each, behind a latency of 15 us. */
enum { READERS = 8, READS = 200, SERVICE_NS = 100000, LATENCY_NS = 15000 };

struct moment {
	uint64_t time_ns;
	uint32_t tid;
	bool is_end;
};

static int compare_moments(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* They think by a fixed rule: in every other round hardly, in the others long, so that some are alone. */
static void use_device(uint32_t parallel, struct moment *ret)
{
	uint64_t ready_ns[READERS], free_ns[READERS] = { 0 }, random = 1;
	for (uint32_t i = 0; i < READERS; i++)
		ready_ns[i] = 1000000 + i * 7000;
	for (size_t i = 0; i < READERS * READS; i++) {
		uint32_t first = 0, server = 0;
		for (uint32_t j = 1; j < READERS; j++)
			first = ready_ns[j] < ready_ns[first] ? j : first;
		for (uint32_t j = 1; j < parallel; j++)
			server = free_ns[j] < free_ns[server] ? j : server;
		uint64_t begin_ns = ready_ns[first], start_ns = begin_ns + LATENCY_NS;
		start_ns = start_ns > free_ns[server] ? start_ns : free_ns[server];
		free_ns[server] = start_ns + SERVICE_NS;
		ret[2 * i] = (struct moment){ begin_ns, first + 1, false };
		ret[2 * i + 1] = (struct moment){ free_ns[server], first + 1, true };
		random = random * 6364136223846793005U + 1;
		uint64_t most_ns = i / (10 * READERS) % 2 ? SERVICE_NS / 2 : 40 * SERVICE_NS;
		ready_ns[first] = free_ns[server] + 20000 + (random >> 33) % most_ns;
	}
	qsort(ret, (size_t)2 * READERS * READS, sizeof *ret, compare_moments);
}

/* A device that tells of ends only when nothing is left to do: of all that came meanwhile together. */
static void use_batches(struct moment *ret)
{
	uint64_t ready_ns[READERS], random = 1;
	size_t count = 0;
	for (uint32_t i = 0; i < READERS; i++)
		ready_ns[i] = 1000000 + i * 7000;
	while (count < (size_t)2 * READERS * READS) {
		bool is_there[READERS] = { false };
		uint64_t end_ns = UINT64_MAX;
		for (;;) {
			uint32_t first = READERS;
			for (uint32_t j = 0; j < READERS; j++)
				if (!is_there[j] && ready_ns[j] <= end_ns &&
					(first == READERS || ready_ns[j] < ready_ns[first]))
					first = j;
			if (first == READERS)
				break;
			is_there[first] = true;
			end_ns = (end_ns == UINT64_MAX ? ready_ns[first] : end_ns) + SERVICE_NS;
		}
		for (uint32_t j = READERS; j-- > 0 && count < (size_t)2 * READERS * READS;) {
			if (!is_there[j])
				continue;
			ret[count++] = (struct moment){ ready_ns[j], j + 1, false };
			ret[count] = (struct moment){ end_ns + count, j + 1, true };
			count++;
			random = random * 6364136223846793005U + 1;
			ready_ns[j] = end_ns + 20000 + (random >> 33) % (4 * SERVICE_NS);
		}
	}
	qsort(ret, count, sizeof *ret, compare_moments);
}

static struct model *model_of_moments(const struct moment *moments, size_t count)
{
	struct script s = begin(READERS);
	for (size_t i = 0; i < count; i++) {
		s.now_ns = moments[i].time_ns - 1000;
		send(&s, (struct event){ .tid = moments[i].tid,
				 .kind = moments[i].is_end ? EVENT_PASS : EVENT_WAIT,
				 .what = WHAT_IO,
				 .flags = moments[i].is_end ? EVENT_WAITED : 0,
				 .site = 5,
				 .value = moments[i].is_end ? 0 : EVENT_IO_FILE });
	}
	return finish(&s, READERS);
}

static void a_device_is_told_from_its_queue(void **state)
{
	(void)state;
	static struct moment moments[2 * READERS * READS];
	/* 0: batches */
	for (uint32_t parallel = 0; parallel <= 3; parallel = parallel == 1 ? 3 : parallel + 1) {
		if (parallel > 0)
			use_device(parallel, moments);
		else
			use_batches(moments);
		AUTO(model) struct model *model = model_of_moments(moments, ARRAY_SIZE(moments));
		const struct model_fragment *read = fragment_of(model, 1, MODEL_IO);
		assert_non_null(read);
		const struct model_object *disk = &model->objects[read->object];
		assert_int_equal((int)size_of(model, disk), parallel > 0 ? parallel : 1);
		assert_int_equal(disk->order, parallel > 0 ? SIM_DISK_FIFO : SIM_DISK_BATCH);
		const struct model_dist *service = &disk->classes[0].service;
		double middle_s = service->kind == MODEL_QUANTILES
					  ? service->quantiles[service->quantile_count / 2]
					  : service->a.value;
		assert_true(fabs(middle_s / (SERVICE_NS * 1e-9) - 1) < 0.15);
	}
}

struct reader {
	uint64_t begin_ns, end_ns; /* 0: it waits to be served */
};

/* Who is served next: who came first, or anybody. */
static struct reader *next_served(
	struct reader *readers, uint32_t count, bool is_drawn, struct rng *rng)
{
	struct reader *ret = NULL;
	uint64_t waiting = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (readers[i].end_ns > 0)
			continue;
		waiting++;
		if (!ret || (is_drawn ? rng_below(rng, waiting) == 0
				      : readers[i].begin_ns < ret->begin_ns))
			ret = &readers[i];
	}
	return ret;
}

/*
 * A device that is always busy, with services of up to 200 us: so many servers, or (0) one that takes any of those that wait. Requests are
 * on their way for `late_ns`; if that is anything, readers think now and then.
 */
static void keep_busy(uint32_t servers, uint32_t count, uint64_t late_ns, struct moment *ret)
{
	struct reader readers[READERS] = { 0 };
	struct rng rng;
	uint64_t now_ns = 1000000;
	uint32_t served = 0;
	rng_init(&rng, 1);
	for (uint32_t i = 0; i < count; i++)
		readers[i].begin_ns = now_ns + i;
	for (size_t ends = 0; ends < (size_t)READERS * READS; ends++) {
		for (; served < count && served < (servers > 0 ? servers : 1); served++) {
			struct reader *taken = next_served(readers, count, servers == 0, &rng);
			uint64_t there_ns = taken->begin_ns + late_ns;
			uint64_t start_ns = now_ns > there_ns ? now_ns : there_ns;
			taken->end_ns = start_ns + 1 + rng_below(&rng, 2 * SERVICE_NS);
		}
		struct reader *first = NULL;
		for (uint32_t i = 0; i < count; i++)
			if (readers[i].end_ns > 0 && (!first || readers[i].end_ns < first->end_ns))
				first = &readers[i];
		now_ns = first->end_ns;
		uint32_t tid = (uint32_t)(first - readers) + 1;
		ret[2 * ends] = (struct moment){ first->begin_ns, tid, false };
		ret[2 * ends + 1] = (struct moment){ now_ns, tid, true };
		uint64_t most_ns = late_ns > 0 && ends % 4 == 0 ? 2 * SERVICE_NS : 5000;
		*first = (struct reader){ .begin_ns = now_ns + 1000 + rng_below(&rng, most_ns) };
		served--;
	}
	qsort(ret, (size_t)2 * READERS * READS, sizeof *ret, compare_moments);
}

static void who_overtakes_was_served_at_the_same_time(void **state)
{
	(void)state;
	static struct moment moments[2 * READERS * READS];
	static const struct {
		uint32_t servers, readers, parallel;
		bool is_guessed;
	} devices[] = { { 4, 4, 4, true }, { 4, 8, 4, false }, { 2, 8, 2, false },
		{ 8, 3, 3, true }, { 1, 4, 1, true }, { 0, 4, 1, true }, { 0, 8, 1, true } };
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		keep_busy(devices[i].servers, devices[i].readers, 0, moments);
		AUTO(model) struct model *model = model_of_moments(moments, ARRAY_SIZE(moments));
		const struct model_fragment *read = fragment_of(model, 1, MODEL_IO);
		assert_non_null(read);
		const struct model_object *disk = &model->objects[read->object];
		assert_int_equal((int)size_of(model, disk), devices[i].parallel);
		assert_int_equal(has_note(model, "disk_parallel"), devices[i].is_guessed);
		assert_int_equal(
			disk->order, devices[i].servers > 0 ? SIM_DISK_FIFO : SIM_DISK_RANDOM);
		const struct model_dist *service = &disk->classes[0].service;
		double middle_s = service->quantiles[service->quantile_count / 2];
		assert_true(disk->latency.value < 0.12 * SERVICE_NS * 1e-9);
		/* The drawn ones' are their waits', over their company. */
		assert_true(
			devices[i].servers == 0 || fabs(middle_s / (SERVICE_NS * 1e-9) - 1) < 0.15);
	}
}

/* Nobody was ever alone there: who finds a server free soon tells what a request takes beside its service. */
static void what_a_queue_hides_is_known_from_who_found_none(void **state)
{
	const uint64_t late_ns = 40000;
	(void)state;
	static struct moment moments[2 * READERS * READS];
	for (uint32_t servers = 2; servers <= 4; servers += 2) {
		keep_busy(servers, 2 * servers, late_ns, moments);
		AUTO(model) struct model *model = model_of_moments(moments, ARRAY_SIZE(moments));
		const struct model_fragment *read = fragment_of(model, 1, MODEL_IO);
		assert_non_null(read);
		const struct model_object *disk = &model->objects[read->object];
		assert_int_equal((int)size_of(model, disk), (int)servers);
		double late_s = (double)late_ns * 1e-9, known_s = disk->latency.value;
		assert_true(known_s > 0.8 * late_s && known_s < 1.1 * late_s);
		/* Uniform, as they were made: not evened out by the queue. */
		const struct model_dist *service = &disk->classes[0].service;
		double low_s = service->quantiles[service->quantile_count / 4];
		assert_true(fabs(low_s / (SERVICE_NS * 1e-9) - 0.5) < 0.1);
	}
}

/* Of the kernel: nobody's CPU clock. */
static void request(
	struct script *s, uint32_t tid, enum event_kind kind, uint64_t number, int flags)
{
	uint64_t cpu_ns = s->cpu_ns[tid];
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_DISK,
			.object = number,
			.flags = (uint16_t)flags,
			.value = event_disk_value(4096, 1) });
	s->cpu_ns[tid] = cpu_ns;
}

static void served(struct script *s, uint32_t tid, uint64_t number, int flags, uint64_t service_ns)
{
	request(s, tid, EVENT_DISK_QUEUE, number, flags);
	request(s, tid, EVENT_DISK_START, number, flags);
	s->now_ns += service_ns - 1000;
	request(s, tid, EVENT_DISK_END, number, flags);
}

static void wait_for_file(struct script *s, uint32_t tid, enum event_kind kind, uint64_t site)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_IO,
			.flags = kind == EVENT_PASS ? EVENT_WAITED : 0,
			.site = site,
			.value = kind == EVENT_WAIT ? EVENT_IO_FILE : 0 });
}

static const struct model_fragment *disk_fragment(
	const struct model *model, const char *class, bool is_background)
{
	for (size_t i = 0; i < model->groups[0].fragment_count; i++) {
		const struct model_fragment *f = &model->groups[0].fragments[i];
		if (f->op == MODEL_IO && f->is_background == is_background &&
			strcmp(model->objects[f->object].classes[f->other].name, class) == 0)
			return f;
	}
	return NULL;
}

static double service_of(const struct model *model, const struct model_fragment *io)
{
	const struct model_dist *service = &model->objects[io->object].classes[io->other].service;
	assert_int_equal(service->kind, MODEL_FIXED);
	return service->a.value;
}

/*
 * Each turn: a read that found two blocks missing, one after the other (every fourth time none: all was in the page
 * cache), then metadata that is waited for before the kernel says so, then a write that nobody waits for.
 */
static void requests_are_known_from_the_kernel(void **state)
{
	enum { TURNS = 40, READ_NS = 100000, METADATA_NS = 50000, WRITE_NS = 20000 };
	(void)state;
	struct script s = begin(0);
	uint64_t number = 0;
	for (int i = 0; i < TURNS; i++) {
		wait_for_file(&s, MAIN, EVENT_WAIT, 5);
		for (int j = 0; j < 2 && i % 4 != 0; j++)
			served(&s, MAIN, ++number, 0, READ_NS);
		wait_for_file(&s, MAIN, EVENT_PASS, 5);
		work(&s, MAIN, 3000);
		request(&s, MAIN, EVENT_DISK_QUEUE, ++number, EVENT_METADATA);
		request(&s, MAIN, EVENT_DISK_START, number, EVENT_METADATA);
		wait_for_file(&s, MAIN, EVENT_WAIT, 6);
		s.now_ns += METADATA_NS - 2000;
		request(&s, MAIN, EVENT_DISK_END, number, EVENT_METADATA);
		wait_for_file(&s, MAIN, EVENT_PASS, 6);
		served(&s, MAIN, ++number, EVENT_WRITE, WRITE_NS);
		locked(&s, MAIN, LOCK, 7);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	const struct model_fragment *read = disk_fragment(model, "read", false);
	const struct model_fragment *metadata = disk_fragment(model, "metadata", false);
	const struct model_fragment *write = disk_fragment(model, "write", true);
	assert_non_null(read);
	assert_non_null(metadata);
	assert_non_null(write);
	assert_int_equal(read->count.entry_count, 2);
	assert_int_equal(read->count.entries[0].count, 0);
	assert_true(fabs(read->count.entries[0].probability - 0.25) < 1e-9);
	assert_int_equal(read->count.entries[1].count, 2);
	assert_int_equal((int)metadata->count.value.value, 1);
	assert_int_equal((int)write->count.value.value, 1);
	assert_true(fabs(service_of(model, read) / (READ_NS * 1e-9) - 1) < 1e-6);
	assert_true(fabs(service_of(model, metadata) / (METADATA_NS * 1e-9) - 1) < 0.03);
	assert_true(fabs(service_of(model, write) / (WRITE_NS * 1e-9) - 1) < 1e-6);
	assert_int_equal((int)size_of(model, &model->objects[read->object]), 1);
}

/* The kernel says when a read woke its thread, which runs sooner or later: it waited for that read. */
static void who_runs_late_waited_for_its_request(void **state)
{
	enum { TURNS = 40, LATE_NS = 30000, SOONER_NS = 2000 };
	(void)state;
	struct script s = begin(0);
	for (uint64_t i = 1; i <= TURNS; i++) {
		wait_for_file(&s, MAIN, EVENT_WAIT, 5);
		served(&s, MAIN, i, 0, SERVICE_NS);
		uint64_t cpu_ns = s.cpu_ns[MAIN];
		op(&s, MAIN, EVENT_WOKEN, WHAT_IO, 0, 0);
		s.cpu_ns[MAIN] = cpu_ns;
		s.now_ns += i % 4 > 0 ? LATE_NS : SOONER_NS;
		wait_for_file(&s, MAIN, EVENT_PASS, 5);
		work(&s, MAIN, 3000);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	assert_non_null(disk_fragment(model, "read", false));
	assert_null(disk_fragment(model, "read", true));
	assert_null(fragment_of(model, 0, MODEL_SLEEP));
}

/* Nothing was asked of a disk: calls on files are part of the code around them. */
static void calls_that_found_all_in_the_cache_are_no_requests(void **state)
{
	(void)state;
	struct script s = begin(0);
	for (int i = 0; i < 30; i++) {
		wait_for_file(&s, MAIN, EVENT_WAIT, 5);
		work(&s, MAIN, 1000);
		wait_for_file(&s, MAIN, EVENT_PASS, 5);
		locked(&s, MAIN, LOCK, 7);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	assert_null(fragment_of(model, 0, MODEL_IO));
	assert_null(fragment_of(model, 0, MODEL_SLEEP));
}

/* A read in four parts that are under way together: the thread waits for the last one only. */
static void parts_that_overlap_are_waited_for_once(void **state)
{
	enum { TURNS = 30, PARTS = 4 };
	(void)state;
	struct script s = begin(0);
	for (uint64_t i = 0; i < TURNS; i++) {
		wait_for_file(&s, MAIN, EVENT_WAIT, 5);
		for (uint64_t j = 0; j < PARTS; j++)
			request(&s, MAIN, EVENT_DISK_QUEUE, PARTS * i + j, 0);
		for (uint64_t j = 0; j < PARTS; j++) {
			request(&s, MAIN, EVENT_DISK_START, PARTS * i + j, 0);
			s.now_ns += SERVICE_NS - 1000;
			request(&s, MAIN, EVENT_DISK_END, PARTS * i + j, 0);
		}
		wait_for_file(&s, MAIN, EVENT_PASS, 5);
		work(&s, MAIN, 3000);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	const struct model_fragment *ahead = disk_fragment(model, "read", true);
	const struct model_fragment *last = disk_fragment(model, "read", false);
	assert_non_null(ahead);
	assert_non_null(last);
	assert_int_equal((int)ahead->count.value.value, PARTS - 1);
	assert_int_equal((int)last->count.value.value, 1);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fabs(fit.simulated_s / fit.measured_s - 1) < 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_is_told_from_its_queue),
		cmocka_unit_test(who_overtakes_was_served_at_the_same_time),
		cmocka_unit_test(what_a_queue_hides_is_known_from_who_found_none),
		cmocka_unit_test(requests_are_known_from_the_kernel),
		cmocka_unit_test(who_runs_late_waited_for_its_request),
		cmocka_unit_test(calls_that_found_all_in_the_cache_are_no_requests),
		cmocka_unit_test(parts_that_overlap_are_waited_for_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
