/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "doctor_machine.h"

#include "machines.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "machine/machine_speed.h"
#include "report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Cores whose widths, queues, units and predictors are known: /proc/cpuinfo's family and models, Arm's part. */
static const struct {
	const char *vendor;
	uint32_t family, first, last;
	const char *machine;
} known[] = {
	{ "GenuineIntel", 6, 0x6a, 0x6c, "icelake-sp" },
	{ "GenuineIntel", 6, 0x7d, 0x7e, "icelake-sp" },
	{ "GenuineIntel", 6, 0x8f, 0x8f, "sapphire-rapids" },
	{ "GenuineIntel", 6, 0x97, 0x9a, "sapphire-rapids" },
	{ "GenuineIntel", 6, 0xcf, 0xcf, "sapphire-rapids" },
	{ "GenuineIntel", 6, 0xad, 0xae, "granite-rapids" },
	{ "AuthenticAMD", 0x19, 0x00, 0x0f, "zen3" },
	{ "AuthenticAMD", 0x19, 0x10, 0x1f, "zen4" },
	{ "AuthenticAMD", 0x19, 0x20, 0x5f, "zen3" },
	{ "AuthenticAMD", 0x19, 0x60, 0xaf, "zen4" },
	{ "AuthenticAMD", 0x1a, 0x00, 0xff, "zen5" },
	{ "Arm", 0, 0xd0c, 0xd0c, "neoverse-n1" },
	{ "Arm", 0, 0xd40, 0xd40, "neoverse-v1" },
};

/*
 * A hypervisor may present an older model than the processor is, but hardly other caches: 48 KiB of first level came with
 * Sunny Cove, at least 2 MiB of second level with Golden Cove's servers, 64 KiB of instructions with Redwood Cove's.
 */
static const char *nearest(const struct machine *machine)
{
	const struct machine_cpu *cpu = &machine->cpu;
	const struct machine_topology *t = &machine->topology;
	if (strcmp(cpu->vendor, "GenuineIntel") == 0 && t->l1d_bytes == 48 << 10)
		return t->l2_bytes < 2 << 20     ? "icelake-sp"
		       : t->l1i_bytes < 64 << 10 ? "sapphire-rapids"
						 : "granite-rapids";
	uint32_t model = cpu->part ? cpu->part : cpu->model;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(known[i].vendor, cpu->vendor) == 0 && known[i].family == cpu->family &&
			model >= known[i].first && model <= known[i].last)
			return known[i].machine;
	return "generic";
}

/* What was done, for people and for the file's `source`. */
struct told {
	struct strbuf measured, assumed;
	const char *base;
};

static void tell(struct strbuf *out, const char *what)
{
	strbuf_addf(out, "%s%s", out->length ? ", " : "", what);
}

static void tell_field(struct strbuf *out, const char *section, const char *field)
{
	strbuf_addf(out, "%s%s.%s", out->length ? ", " : "", section, field);
}

/* What is so many times as long as on the nearest processor, or as short, was somebody else's doing, or none. */
static const double DISTURBED = 10;

static bool is_believable(double value, double base)
{
	return value > 0 && value <= DISTURBED * base && base <= DISTURBED * value;
}

/* A time that was measured; else the base's stays. */
static void take(struct told *told, double value, const char *what, double scale, double *ret)
{
	if (!is_believable(value * scale, *ret)) {
		tell(&told->assumed, what);
		return;
	}
	double digits =
		value * scale < 100 ? 10 : 1; /* a tenth is more than such a measurement knows */
	*ret = floor(value * scale * digits + 0.5) / digits;
	tell(&told->measured, what);
}

/* A time that no processor we have tells for another one: 0 if it was not measured. */
static void take_own(struct told *told, double ns, const char *what, double *ret)
{
	*ret = floor(ns + 0.5);
	if (*ret > 0)
		tell(&told->measured, what);
}

/* A hit is a whole number of cycles, and never sooner than one level nearer. */
static void take_latency(
	struct told *told, double ns, unsigned level, const char *name, struct processor *p)
{
	struct cache *cache = &p->levels[level];
	double cycles = ns * p->frequency_hz / 1e9;
	if (!is_believable(cycles, cache_latency_cycles(cache, p))) {
		tell_field(&told->assumed, name, "latency");
		return;
	}
	double before = level > 0 ? cache_latency_cycles(&p->levels[level - 1], p) : 0;
	cache->latency = (uint32_t)(cycles + 0.5 > before + 1 ? cycles + 0.5 : before + 1);
	cache->latency_ns = 0;
	tell_field(&told->measured, name, "latency");
}

/* As large as measured where that is less than the machine says of itself. */
static void take_size(
	struct told *told, uint64_t claimed, uint64_t bytes, const char *name, struct cache *cache)
{
	static const uint64_t kib = 1 << 10, mib = 1 << 20;
	cache->bytes = claimed;
	if (bytes > 0 && bytes < claimed) {
		char text[64];
		uint64_t unit = bytes >= 4 * mib ? mib : kib;
		cache->bytes = bytes / unit * unit;
		snprintf(text, sizeof text, "%s.size (of %" PRIu64 " KiB built in)", name,
			claimed / kib);
		tell(&told->measured, text);
	}
	/* As many ways as the base's, if the size has so many. */
	while (cache->ways > 1 && (uint64_t)cache->ways * 64 > cache->bytes)
		cache->ways /= 2;
}

/* A rate of bytes, as precise as it is known. */
static double rounded_rate(double bytes_per_s)
{
	return floor(bytes_per_s / 1e8 + 1) * 1e8;
}

/* No LRU keeps anything of what streams through it and is larger. */
static void take_replacement(
	struct told *told, const struct memory_speed *speed, const char *name, struct cache *cache)
{
	static const double BY_CHANCE = 0.1;
	if (speed->kept < BY_CHANCE)
		return;
	cache->replacement = REPLACEMENT_RANDOM;
	tell_field(&told->measured, name, "replacement");
}

static void take_caches(struct told *told, const struct machine *machine,
	const struct memory_speed *speed, struct processor *p)
{
	const struct machine_topology *t = &machine->topology;
	const struct {
		uint64_t bytes;
		uint32_t cores;
	} levels[MEMORY_LEVELS] = { { t->l1d_bytes, 1 }, { t->l2_bytes, t->l2_cores },
		{ t->l3_bytes, t->l3_cores } };
	static const char *const names[] = { "l1", "l2", "l3" };
	unsigned last = 0;
	for (unsigned i = 0; i < MEMORY_LEVELS; i++) {
		if (levels[i].bytes == 0) {
			tell(&told->assumed, names[i]);
			continue;
		}
		struct cache *cache = &p->levels[i];
		take_size(told, levels[i].bytes, speed->levels.bytes[i], names[i], cache);
		cache->shared_by = levels[i].cores > 0 ? levels[i].cores : cache->shared_by;
		take_latency(told, speed->levels.ns[i], i, names[i], p);
		last = i;
	}
	tell(&told->measured, "other cache sizes (hwloc)");
	take_replacement(told, speed, names[last], &p->levels[last]);
	if (last > 0 && speed->level_bytes_per_s > 0) {
		p->levels[last].bytes_per_s = rounded_rate(speed->level_bytes_per_s);
		tell_field(&told->measured, names[last], "bandwidth");
	}
	if (speed->lifetime_ns > 0) {
		p->levels[last].lifetime_ns = floor(speed->lifetime_ns / 1e5 + 0.5) * 1e5;
		tell_field(&told->measured, names[last], "lifetime");
	}
}

/*
 * In a set of S bytes on pages of P, at random, the TLB of E entries has a page with the probability E P / S, and takes its
 * second level's latency for it: what loads take longer beside that are walks.
 */
static void take_walk(
	struct told *told, const struct memory_speed *speed, double hz, struct tlb *tlb)
{
	double second_ns = tlb->second_entries > 0 ? tlb->second_latency * 1e9 / hz : 0;
	uint32_t entries = tlb->second_entries > 0 ? tlb->second_entries : tlb->entries;
	double sum_ns = 0;
	unsigned count = 0;
	if (entries == 0)
		return;
	for (unsigned i = 0; i < MEMORY_PAGED; i++) {
		double bytes = (double)speed->paged[i].bytes;
		double missing = bytes > 0 ? 1 - (double)entries * PROFILE_PAGE_BYTES / bytes : 0;
		if (missing <= 0)
			continue;
		sum_ns += (speed->paged[i].more_ns - (1 - missing) * second_ns) / missing;
		count++;
	}
	if (count > 0)
		take(told, sum_ns / count, "tlb.walk", 1, &tlb->walk_ns);
}

/*
 * What the model plays between a load's dispatch and that of what follows the mispredicted branch that tests it: issue in the
 * next cycle, the first level's latency, the branch, and the front end's refill. Beyond these bounds it is something else.
 */
static void take_front_end(
	struct told *told, const struct front_speed *speed, double hz, struct processor *p)
{
	static const double least = 3, most = 60;
	double cycles =
		speed->mispredicted_ns * hz / 1e9 -
		(1 + cache_latency_cycles(&p->levels[0], p) + p->units[CODE_BRANCH].latency);
	if (cycles < least || cycles > most) {
		tell(&told->assumed, "front_end");
	} else {
		p->front_end = (uint32_t)(cycles + 0.5);
		tell(&told->measured, "front_end");
	}
	if (p->targets.entries == 0 || !speed->has_line)
		return;
	double line_cycles = speed->line_ns * hz / 1e9;
	p->targets.next_line = line_cycles < least ? (uint32_t)(line_cycles + 0.5) : 0;
	double split_cycles = speed->split_ns * hz / 1e9;
	p->targets.split_branch = split_cycles < least ? (uint32_t)(split_cycles + 0.5) : 0;
	tell(&told->measured, "targets.next_line and split_branch");
}

/* As measured if it is less than a miss of the second level: what the model plays without is nothing. */
static void take_locked_miss(struct told *told, double ns, struct processor *p)
{
	double cycles = ns * p->frequency_hz / 1e9;
	if (ns <= 0 || cycles > cache_latency_cycles(&p->levels[p->level_count - 1], p)) {
		tell(&told->assumed, "locked_miss");
		return;
	}
	p->locked_miss = (uint32_t)(cycles + 0.5);
	tell(&told->measured, "locked_miss");
}

/* Of lines into one set, if that is more than what lines take anyway and no more than one after the other. */
static void take_same_set(
	struct told *told, double ns, unsigned level, const char *name, struct processor *p)
{
	static const double least = 3;
	double cycles = ns * p->frequency_hz / 1e9;
	if (level + 1 >= p->level_count || ns <= 0 ||
		cycles > cache_latency_cycles(&p->levels[level + 1], p)) {
		tell(&told->assumed, name);
		return;
	}
	p->levels[level].same_set = cycles < least ? 0 : (uint32_t)(cycles + 0.5);
	tell(&told->measured, name);
}

/* Where lines come no slower than their instructions are done, that is no limit. */
static void take_fetch_interval(struct told *told, double ns, double first_ns, unsigned level,
	const char *name, struct processor *p)
{
	static const double most = 1000;
	double cycles = ns * p->frequency_hz / 1e9;
	if (level >= p->level_count || ns <= 0 || first_ns <= 0 || cycles > most) {
		tell(&told->assumed, name);
		return;
	}
	p->levels[level].fetch_interval = ns > 1.1 * first_ns ? (uint32_t)(cycles + 0.5) : 0;
	tell(&told->measured, name);
}

/* What the kernel is set to where it tells (-1: for ever), else Linux's own. */
static void take_hot(struct told *told, struct processor *p)
{
	static const double linux_ns = 500000, most_ns = 1e9;
	double ns = 0;
	bool is_told = readfile_number("", "/sys/kernel/debug/sched/migration_cost_ns", &ns) == 0 ||
		       readfile_number("", "/proc/sys/kernel/sched_migration_cost_ns", &ns) == 0;
	p->hot_ns = !is_told ? linux_ns : ns < 0 ? most_ns : fmin(ns, most_ns);
	tell(is_told ? &told->measured : &told->assumed, "threads.hot");
}

/* Cores that are halted, or at work. What a woken thread interrupts loses that, and the core two switches. */
static void take_waking(struct told *told, const struct machine_speed *speed, struct processor *p)
{
	const struct interrupt_probe *interrupt = &speed->interrupt;
	p->wake_spread = floor(fmin(speed->wake_spread, 1) * 100 + 0.5) / 100;
	tell(speed->wake_ns > 0 ? &told->measured : &told->assumed, "threads.wake_spread");
	take_own(told, speed->halt.after_ns, "threads.halt", &p->halt_ns);
	take_own(told, speed->halt.start_ns, "threads.halt_start", &p->halt_start_ns);
	take_own(told, speed->halt.latency_ns, "threads.halted_wake", &p->halted_wake_ns);
	take_own(told, speed->halt.cost_ns, "threads.halted_wake_cost", &p->halted_wake_cost_ns);
	take_own(told, fmax(interrupt->lost_ns - 2 * speed->switch_ns, 0), "threads.interrupt",
		&p->interrupt_ns);
	take_own(told, interrupt->cost_ns, "threads.interrupt_cost", &p->interrupt_cost_ns);
	take_own(told, interrupt->queued_cost_ns, "threads.queued_cost", &p->queued_cost_ns);
}

static int fill(const struct machine *machine, const struct machine_speed *speed, struct told *told,
	struct processor *p)
{
	char *name = strdup("this");
	if (!name)
		return -ENOMEM;
	free(p->name);
	p->name = name;
	p->cores = machine->usable;
	double hz = speed->hz > 0 ? speed->hz : machine->cpu.max_hz;
	if (hz > 0)
		p->frequency_hz = floor(hz / 1e7 + 0.5) * 1e7;
	tell(hz > 0 ? &told->measured : &told->assumed, "frequency");
	const struct memory_speed *memory = &speed->memory;
	take_caches(told, machine, memory, p);
	take_walk(told, memory, p->frequency_hz, &p->tlb);
	take_front_end(told, &speed->front, p->frequency_hz, p);
	take_locked_miss(told, speed->locked_miss_ns, p);
	const struct fetch_speed *fetch = &speed->fetch;
	take_fetch_interval(told, fetch->second_ns, fetch->first_ns, 1, "l2.fetch_interval", p);
	take_fetch_interval(told, fetch->third_ns, fetch->first_ns, 2, "l3.fetch_interval", p);
	take_same_set(told, speed->sets.first_ns, 0, "l1.same_set", p);
	take_same_set(told, speed->sets.second_ns, 1, "l2.same_set", p);
	take(told, memory->levels.memory_ns, "memory.latency", 1, &p->memory_ns);
	p->memory_spread = floor(memory->spread * 100 + 0.5) / 100;
	if (p->memory_spread > 0)
		tell(&told->measured, "memory.spread");
	/* Few cores reach less than all of the processor's, however undisturbed. */
	if (memory->bytes_per_s > 0)
		p->memory_bytes_per_s = rounded_rate(memory->bytes_per_s);
	tell(memory->bytes_per_s > 0 ? &told->measured : &told->assumed, "memory.bandwidth");
	if (memory->core_bytes_per_s > 0) {
		p->core_bytes_per_s = rounded_rate(memory->core_bytes_per_s);
		tell(&told->measured, "memory.core_bandwidth");
	}
	take(told, speed->pair.transfer_ns, "memory.transfer", 1, &p->transfer_ns);
	take_own(told, speed->pair.turn_ns, "memory.turn", &p->turn_ns);
	if (speed->pair.transfer_ns > 0) {
		p->stay = (uint32_t)(speed->pair.stay + 0.5);
		p->hold_ns = floor(10 * speed->pair.hold_ns + 0.5) / 10;
		tell(&told->measured, "memory.stay and hold");
	}
	take(told, speed->pair.lock_ns, "threads.lock", p->frequency_hz / 1e9, &p->lock_cycles);
	p->overlap = speed->pair.lock_overlap >= 0.5;
	tell(speed->pair.lock_ns > 0 ? &told->measured : &told->assumed, "threads.overlap");
	take(told, speed->wake_ns, "threads.wake", 1, &p->wake_ns);
	take_own(told, speed->wake_cost_ns, "threads.wake_cost", &p->wake_cost_ns);
	take_own(told, speed->doze_ns, "threads.doze", &p->doze_ns);
	take_own(told, speed->switch_ns, "threads.switch", &p->switch_ns);
	take_own(told, speed->call.yield_ns, "threads.yield", &p->yield_ns);
	take_own(told, speed->call.yield_switch_ns, "threads.yield_switch", &p->yield_switch_ns);
	take_hot(told, p);
	p->in_place = speed->in_place >= 0.5;
	tell(machine->usable > 1 ? &told->measured : &told->assumed, "threads.in_place");
	take_own(told, speed->part_ns, "threads.part", &p->part_ns);
	take_waking(told, speed, p);
	take_own(told, speed->call.ns, "threads.call", &p->call_ns);
	take_own(told, speed->start.exec_ns, "threads.exec", &p->exec_ns);
	take_own(told, speed->start.library_ns, "threads.library", &p->library_ns);
	take_own(told, memory->fault_ns, "threads.fault", &p->fault_ns);
	p->interrupted = floor(speed->interrupted * 1000 + 0.5) / 1000;
	tell(&told->measured, "threads.interrupted");
	take_own(told, speed->interruption_ns, "threads.interruption", &p->interruption_ns);
	p->sibling_busy = floor(speed->sibling_busy * 100 + 0.5) / 100;
	if (p->sibling_busy > 0)
		tell(&told->measured, "threads.sibling_busy");
	take_own(told, speed->sibling_spell_ns, "threads.sibling_spell", &p->sibling_spell_ns);
	p->power = (struct power){ 0 };
	/* Behind a hypervisor caches that are not ours may seem slower than memory. */
	double last = cache_latency_cycles(&p->levels[p->level_count - 1], p);
	if (p->memory_ns * p->frequency_hz / 1e9 <= last)
		p->memory_ns = (last + 1) * 1e9 / p->frequency_hz;
	return 0;
}

/* What may have made it wrong: "" for nothing. */
static void tell_others(const struct machine_speed *speed, char *ret, size_t size)
{
	*ret = '\0';
	if (machine_speed_is_disturbed(speed))
		(void)snprintf(ret, size,
			"others kept %.1f processors busy and %.0f%% of the cores' hidden threads, "
			"so that figures may be worse than the machine's; ",
			speed->others, speed->shared * 100); /* fits */
	size_t used = strlen(ret);
	if (machine_speed_cores_move(speed))
		(void)snprintf(ret + used, size - used,
			"the cores were moved: memory.transfer was %.0f to %.0f ns; ",
			speed->pair.transfer_least_ns, speed->pair.transfer_most_ns); /* fits */
}

static int set_source(const struct machine *machine, const struct machine_speed *speed,
	struct told *told, struct processor *p)
{
	char *source = NULL, others[240];
	tell_others(speed, others, sizeof others);
	tell(&told->assumed, "widths, queues, units, ways, predictor, prefetcher");
	if (strbuf_failed(&told->measured) < 0 || strbuf_failed(&told->assumed) < 0 ||
		asprintf(&source, "%s; %smeasured: %s; of %s: %s; no power model",
			*machine->cpu.name ? machine->cpu.name : "this machine", others,
			told->measured.text, told->base, told->assumed.text) < 0)
		return -ENOMEM;
	free(p->source);
	p->source = source;
	return 0;
}

static __attribute__((format(printf, 2, 3))) void print_line(
	const char *head, const char *format, ...)
{
	AUTO_RELEASE(strbuf) struct strbuf line = { 0 }, wrapped = { 0 };
	AUTO_FREE char *text = NULL;
	va_list values;
	va_start(values, format);
	int length = vasprintf(&text, format, values);
	va_end(values);
	if (length < 0) {
		text = NULL; /* not defined */
		return;
	}
	strbuf_addf(&line, "%s: %s.", head, text);
	if (line.text)
		text_add_wrapped(&wrapped, line.text, 80, "", "  ");
	if (strbuf_failed(&line) == 0 && strbuf_failed(&wrapped) == 0)
		fputs(wrapped.text, stderr);
}

static void print(
	const struct told *told, const struct machine *machine, const struct machine_speed *speed)
{
	AUTO_RELEASE(strbuf) struct strbuf head = { 0 };
	strbuf_addf(&head, "As in %s%s", told->base,
		strcmp(told->base, "generic") == 0 ? ", for want of anything nearer" : "");
	print_line("Measured", "%s", told->measured.text);
	print_line(head.text ? head.text : "Assumed", "%s", told->assumed.text);
	if (machine_speed_is_disturbed(speed))
		print_line("Disturbed",
			"in the middle of %d rounds other work kept %.1f processors busy, and "
			"%.0f%% of the time the other hardware threads of these cores, which this "
			"machine does not show; the file says so. Predictions take the latter to "
			"be as busy again (sibling_busy). Measure again when it is idle",
			MACHINE_ROUNDS, speed->others, speed->shared * 100);
	else if (machine->cpu.is_virtual)
		print_line("This is a virtual machine",
			"cores and caches may be shared with others, whose work was measured too; "
			"measure when it is idle");
	if (machine_speed_cores_move(speed))
		print_line("Moving",
			"two cores were near one another at some looks and far apart at others, as "
			"where a hypervisor moves them: lines that both write came in %.0f to %.0f "
			"ns. Threads that share such will be as much faster or slower by the "
			"moment as these differ; predictions take %.0f ns",
			speed->pair.transfer_least_ns, speed->pair.transfer_most_ns,
			speed->pair.transfer_ns);
}

int doctor_measure_machine(const struct machine *machine, const char *path, struct err *err)
{
	AUTO_RELEASE(processor) struct processor processor = { 0 };
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	struct told told = { .base = nearest(machine) };
	struct machine_speed speed = { 0 };
	int code = machine_load(told.base, &processor, err);
	if (code == 0)
		code = outfile_open(&out, path, err); /* before it measures in vain */
	if (code == 0)
		fprintf(stderr, "Measuring in %d rounds, some 20 s.\n", MACHINE_ROUNDS);
	if (code == 0)
		code = machine_speed_measure(machine, &speed, err);
	if (code < 0)
		return code;
	if (fill(machine, &speed, &told, &processor) < 0 ||
		set_source(machine, &speed, &told, &processor) < 0)
		code = err_set(err, -ENOMEM, "out of memory");
	if (code == 0) {
		processor_write(&processor, out.file);
		code = outfile_commit(&out, err);
	}
	if (code == 0)
		print(&told, machine, &speed);
	strbuf_release(&told.measured);
	strbuf_release(&told.assumed);
	return code;
}
