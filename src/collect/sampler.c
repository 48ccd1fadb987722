/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * There is a ring for each processor. They are read one after another, so what they say about
 * mappings is taken in before the samples that need it.
 */
#include "collect/sampler.h"

#include "base/mem.h"
#include "code/address_space.h"
#include "collect/perf_ring.h"
#include "code/symbols.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
	/* 128 KiB hold 4,000 samples: 4 s of one processor. A power of two of pages. */
	RING_PAGES = 32,
	SAMPLES_PER_SECOND = 1000,
	COMPACT_SITES = 1 << 18, /* raw samples kept before equal ones are merged */
};

struct raw_site {
	uint32_t module; /* index + 1; 0: no file */
	uint64_t address; /* offset in the file, or address */
	uint64_t count;
};

struct sampler {
	struct perf_event_attr attr;
	bool is_time;
	struct perf_rings rings;
	struct address_spaces spaces;
	struct raw_site *sites;
	size_t site_count;
	size_t site_capacity;
	uint64_t lost;
};

/* As the kernel lays them out. */
struct record_sample {
	struct perf_event_header header;
	uint64_t address;
	uint32_t pid, tid;
};

struct record_mmap {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	char path[];
};

struct record_fork {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
};

struct record_lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

int sampler_new(const struct perf_event_attr *event, struct sampler **ret, struct err *err)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return err_set(err, -ENOMEM, "out of memory");
	sampler->is_time = !event;
	sampler->attr = (struct perf_event_attr){
		.type = event ? event->type : PERF_TYPE_SOFTWARE,
		.size = sizeof(sampler->attr),
		.config = event ? event->config : PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = SAMPLES_PER_SECOND,
		.freq = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.task = 1,
	};
	if (event) {
		sampler->attr.config1 = event->config1;
		sampler->attr.config2 = event->config2;
	} else {
		sampler->attr.freq = 0;
		sampler->attr.sample_period = 1000000000 / SAMPLES_PER_SECOND;
	}
	*ret = sampler;
	return 0;
}

static void forget(struct sampler *sampler)
{
	address_spaces_release(&sampler->spaces);
	sampler->site_count = 0;
	sampler->lost = 0;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	perf_rings_release(&sampler->rings);
	forget(sampler);
	free(sampler->sites);
	free(sampler);
}

int sampler_explain(int code, struct err *err)
{
	if (code == -EACCES || code == -EPERM)
		return err_set(err, -EACCES,
			"sampling is not allowed here; run as root, or: "
			"sysctl kernel.perf_event_paranoid=2");
	if (code == -ENOENT || code == -ENODEV || code == -EOPNOTSUPP)
		return err_set(err, -ENOENT,
			"this machine cannot sample that event; use --where cpu for processor "
			"time");
	return err_set(err, code, "cannot sample: perf_event_open: %s", strerror(-code));
}

int sampler_attach(struct sampler *sampler, pid_t pid, struct err *err)
{
	perf_rings_release(&sampler->rings);
	forget(sampler);
	int code = perf_rings_open(&sampler->rings, &sampler->attr, pid, RING_PAGES);
	return code < 0 ? sampler_explain(code, err) : 0;
}

static int compare_raw(const void *a, const void *b)
{
	const struct raw_site *left = a;
	const struct raw_site *right = b;
	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return left->address < right->address ? -1 : left->address > right->address;
}

static void merge_equal(struct sampler *sampler)
{
	size_t kept = 0;
	if (sampler->site_count == 0)
		return;
	qsort(sampler->sites, sampler->site_count, sizeof(sampler->sites[0]), compare_raw);
	for (size_t i = 1; i < sampler->site_count; i++)
		if (compare_raw(&sampler->sites[kept], &sampler->sites[i]) == 0)
			sampler->sites[kept].count += sampler->sites[i].count;
		else
			sampler->sites[++kept] = sampler->sites[i];
	sampler->site_count = kept + 1;
}

static int add_sample(struct sampler *sampler, const struct record_sample *sample)
{
	struct raw_site site = { .address = sample->address, .count = 1 };
	const struct mapping *mapping =
		address_spaces_find(&sampler->spaces, sample->pid, sample->address);
	if (mapping) {
		site.module = mapping->module + 1;
		site.address = sample->address - mapping->start + mapping->offset;
	}
	if (sampler->site_count >= COMPACT_SITES && sampler->site_count == sampler->site_capacity)
		merge_equal(sampler);
	if (mem_grow(&sampler->sites, &sampler->site_capacity, sampler->site_count + 1,
		    sizeof(sampler->sites[0])) < 0)
		return -ENOMEM;
	sampler->sites[sampler->site_count++] = site;
	return 0;
}

static int note_mapping(struct sampler *sampler, const struct record_mmap *record)
{
	const struct mapping mapping = {
		.pid = record->pid,
		.start = record->start,
		.end = record->start + record->length,
		.offset = record->offset,
	};
	if (record->path[0] != '/') /* [vdso], //anon */
		return 0;
	return address_spaces_map(&sampler->spaces, &mapping, record->path);
}

/* What tells about address spaces. */
static int take_context(struct sampler *sampler, const struct perf_event_header *header)
{
	if (header->type == PERF_RECORD_MMAP)
		return note_mapping(sampler, (const struct record_mmap *)header);
	if (header->type == PERF_RECORD_LOST)
		sampler->lost += ((const struct record_lost *)header)->lost;
	if (header->type != PERF_RECORD_FORK)
		return 0;
	const struct record_fork *fork = (const struct record_fork *)header;
	if (fork->pid == fork->parent) /* a thread */
		return 0;
	return address_spaces_fork(&sampler->spaces, fork->parent, fork->pid);
}

static int take_sample(struct sampler *sampler, const struct perf_event_header *header)
{
	if (header->type != PERF_RECORD_SAMPLE)
		return 0;
	return add_sample(sampler, (const struct record_sample *)header);
}

static int walk(struct sampler *sampler, const struct perf_ring *ring, uint64_t from, uint64_t to,
	int (*take)(struct sampler *, const struct perf_event_header *))
{
	union {
		struct perf_event_header header;
		char bytes[PERF_RECORD_BYTES_MAX];
	} record;
	int worst = 0;
	while (from < to) {
		uint64_t size = perf_rings_copy(
			&sampler->rings, ring, from, &record.header, sizeof(record));
		if (size < sizeof(record.header))
			break; /* cannot be: would never end */
		int r = take(sampler, &record.header);
		if (r < 0)
			worst = r;
		from += size;
	}
	return worst;
}

/* Samples up to `ends`, which were read before: what they refer to has been written since. */
static int drain_up_to(struct sampler *sampler, const uint64_t *ends)
{
	int worst = 0;
	for (size_t i = 0; i < sampler->rings.count; i++) {
		struct perf_ring *ring = &sampler->rings.items[i];
		uint64_t now = perf_ring_head(ring);
		int r = walk(sampler, ring, ring->context_seen, now, take_context);
		worst = r < 0 ? r : worst;
		ring->context_seen = now;
	}
	for (size_t i = 0; i < sampler->rings.count; i++) {
		struct perf_ring *ring = &sampler->rings.items[i];
		int r = walk(sampler, ring, ring->seen, ends[i], take_sample);
		worst = r < 0 ? r : worst;
		ring->seen = ends[i];
		perf_ring_free_up_to(ring, ends[i]);
	}
	return worst;
}

int sampler_drain(struct sampler *sampler)
{
	AUTO_FREE uint64_t *ends = calloc(sampler->rings.count + 1, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < sampler->rings.count; i++)
		ends[i] = perf_ring_head(&sampler->rings.items[i]);
	return drain_up_to(sampler, ends);
}

static int compare_sites(const void *a, const void *b)
{
	const struct sample_site *left = a;
	const struct sample_site *right = b;
	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return left->address < right->address ? -1 : left->address > right->address;
}

static struct sample_site finish_site(const struct raw_site *raw, char *const *modules)
{
	struct sample_site site = { .address = raw->address, .count = raw->count };
	if (raw->module > 0) {
		site.module = modules[raw->module - 1];
		site.address = symbols_address_of_offset(site.module, raw->address);
	}
	return site;
}

int sampler_finish(struct sampler *sampler, struct samples **ret, struct err *err)
{
	if (sampler_drain(sampler) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	perf_rings_release(&sampler->rings);
	merge_equal(sampler);
	AUTO(samples) struct samples *samples = calloc(1, sizeof(*samples));
	if (!samples)
		return err_set(err, -ENOMEM, "out of memory");
	samples->sites = calloc(sampler->site_count + 1, sizeof(samples->sites[0]));
	if (!samples->sites)
		return err_set(err, -ENOMEM, "out of memory");
	samples->lost = sampler->lost;
	samples->period_s = sampler->is_time ? 1.0 / SAMPLES_PER_SECOND : NAN;
	samples->modules = sampler->spaces.modules;
	samples->module_count = sampler->spaces.module_count;
	sampler->spaces.modules = NULL;
	sampler->spaces.module_count = 0;
	for (size_t i = 0; i < sampler->site_count; i++) {
		samples->sites[i] = finish_site(&sampler->sites[i], samples->modules);
		samples->count += sampler->sites[i].count;
	}
	samples->site_count = sampler->site_count;
	qsort(samples->sites, samples->site_count, sizeof(samples->sites[0]), compare_sites);
	forget(sampler);
	*ret = TAKE(samples);
	return 0;
}

void samples_free(struct samples *samples)
{
	if (!samples)
		return;
	for (size_t i = 0; i < samples->module_count; i++)
		free(samples->modules[i]);
	free(samples->modules);
	free(samples->sites);
	free(samples);
}
