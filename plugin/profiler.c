/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin: what QEMU calls. `-plugin FILE[,backend=NAME],out=RAW[,page=PAGE][,trace=on][,pace=on][,program=FILE,timeline=TRACE]`; PAGE is
 * that of preload/profile_page.h, without which each thread is one stretch; trace: also a full trace (trace_raw.h); pace: see
 * pace.h; program, timeline: a static program (calls.h), and where its events go.
 *
 * Each executed block costs one short function: two comparisons and additions of vectors; its first access calls it
 * where that is sure to be called once. Whatever is rare waits for one of the comparisons: another stretch, or
 * `next_instructions`.
 */
#include "blocks.h"
#include "branches.h"
#include "calls.h"
#include "clock.h"
#include "code_class.h"
#include "fetch.h"
#include "loop.h"
#include "out.h"
#include "pace.h"
#include "pages.h"
#include "preload/profile_page.h"
#include "record.h"
#include "reuse.h"
#include "stretch.h"
#include "thread.h"
#include "wide.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

QEMU_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
QEMU_EXPORT int qemu_plugin_install(
	qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

enum {
	/* Doubled each time, up to a second. */
	WRITE_FIRST_NS = 50000000,
	WRITE_EVERY_NS = 1000000000,
};

static struct profile_page *page;
static pid_t profiled_pid;
static const char *backend = "qemu";
/* Threads come and go; held for that, and to write at the program's end. */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;

static void write_quality(void)
{
	struct raw_quality quality = {
		.lost = out_lost(), .undecoded = blocks_undecoded(), .micro_traces = record_count()
	};
	if (quality.micro_traces)
		quality.micro_period =
			(double)thread_instructions_written() / (double)quality.micro_traces;
	reuse_quality(&quality.reuse_samples, &quality.reuse_rate);
	out_record(RAW_QUALITY, &quality, sizeof(quality), NULL, 0);
}

/* Of the page, which the guest's recorder writes to; PROFILE_SLOTS: its own again. */
static void take_slot(struct vcpu *vcpu, uint64_t slot)
{
	struct profile_slot *shared = slot < PROFILE_SLOTS ? &page->slots[slot] : &vcpu->own;
	if (vcpu->slot == shared)
		return;
	vcpu_settle(vcpu);
	vcpu->own.stretch = PROFILE_NOT_COUNTED; /* from now on it is nobody's */
	shared->instructions = vcpu->slot->instructions;
	shared->accesses = vcpu->slot->accesses;
	vcpu->slot = shared;
	if (vcpu->thread && shared->tid != 0) { /* as its own process knows it */
		vcpu->thread->pid = shared->pid;
		vcpu->thread->tid = shared->tid;
	}
}

/* Makes the thread that the virtual cpu runs from now on. Without memory it is run, not counted. */
static void start_thread(struct vcpu *vcpu)
{
	(void)pthread_mutex_lock(&threads_lock);
	vcpu->thread = thread_new();
	vcpu->mode = vcpu->thread ? 0 : VCPU_IGNORED;
	(void)pthread_mutex_unlock(&threads_lock);
	if (!vcpu->thread)
		return;
	take_slot(vcpu, calls_thread_start(vcpu));
	vcpu->thread->written_ns = clock_ns();
	vcpu->thread->write_every_ns = WRITE_FIRST_NS;
	vcpu->next_access = vcpu->next_fetch = UINT64_MAX;
	if (!record_start(vcpu))
		out_count_lost();
	vcpu->stretch = PROFILE_NOT_COUNTED; /* so that the first stretch is entered */
	vcpu->mode |= VCPU_OFF;
}

/* Before a block, when there is something special about the virtual cpu. Whether the block counts. */
static __attribute__((noinline)) bool attend_before(struct vcpu *vcpu, const struct block *block)
{
	if (vcpu->mode & VCPU_UNSTARTED)
		start_thread(vcpu);
	if (vcpu->mode & VCPU_IGNORED)
		return vcpu->slot->stretch != PROFILE_NOT_COUNTED;
	uint64_t stretch = vcpu->slot->stretch;
	if (stretch != vcpu->stretch)
		stretch_enter(vcpu, stretch);
	if (vcpu->mode & VCPU_RECORDS)
		record_block(vcpu, block);
	if (vcpu->mode & VCPU_BRANCHES && vcpu->sum)
		branches_block(vcpu, block);
	return !(vcpu->mode & VCPU_OFF);
}

/* After `next_instructions`, or when an access of the block is to be sampled. */
static __attribute__((noinline)) void attend_after(struct vcpu *vcpu)
{
	if (vcpu->slot->accesses > vcpu->next_access)
		vcpu_look(vcpu, LOOKS_SAMPLER);
	if (vcpu->slot->instructions < vcpu->next_instructions)
		return;
	vcpu_settle(vcpu);
	vcpu->next_instructions = vcpu->slot->instructions + STRETCH_ATTEND_EVERY;
	if (!vcpu->sum)
		return;
	stretch_plan(vcpu);
	uint64_t now = clock_ns();
	if (now - vcpu->thread->written_ns < vcpu->thread->write_every_ns)
		return;
	if (vcpu->thread->write_every_ns < WRITE_EVERY_NS)
		vcpu->thread->write_every_ns *= 2;
	vcpu->thread->written_ns = now;
	thread_write(vcpu, false);
	write_quality();
	out_flush();
}

/* Blocks that are new or have string instructions; whether it is not just the next element of one. */
static __attribute__((noinline)) bool attend_to_rare(struct vcpu *vcpu, struct block *block)
{
	if (block->new_lines)
		fetch_first(vcpu, block);
	if (!block_goes_on(block, vcpu->previous)) {
		vcpu->string_lines[0] = vcpu->string_lines[1] = UINT64_MAX;
		vcpu->string_index = (uint16_t)(block->count - 1);
		return true;
	}
	vcpu->previous = block;
	return false;
}

/*
 * The block's part that every execution has. Whether more is to be done: change_line(). What is seldom done is called
 * last everywhere, so that the callbacks, of which a program makes one every few instructions, save no registers.
 */
static inline bool count_block(struct vcpu *vcpu, const struct block *block)
{
	struct profile_slot *slot = vcpu->slot;
	bool changes_line = vcpu->previous->last_line != block->only_line;
	vcpu->previous = block;
	for (unsigned i = 0; i < LANE_PARTS; i++)
		vcpu->counts[i] += block->counts[i];
	uint64_t accesses = slot->accesses + block->accesses;
	uint64_t instructions = slot->instructions + block->count;
	slot->accesses = accesses;
	slot->instructions = instructions;
	return changes_line | vcpu_is_due(vcpu, instructions, accesses);
}

static __attribute__((noinline)) void attend(
	struct vcpu *vcpu, const struct block *previous, const struct block *block)
{
	attend_after(vcpu);
	fetch_look(vcpu, previous->last_line, block);
}

/* After count_block(): whether to attend(). `previous` was executed before the block. */
static inline bool change_line(
	struct vcpu *vcpu, const struct block *previous, const struct block *block)
{
	bool is_watched = fetch_block(vcpu, previous->last_line, block);
	return is_watched | vcpu_is_due(vcpu, vcpu->slot->instructions, vcpu->slot->accesses);
}

static __attribute__((noinline)) void on_other_line(
	struct vcpu *vcpu, const struct block *previous, const struct block *block)
{
	if (change_line(vcpu, previous, block))
		attend(vcpu, previous, block);
	else if (loop_begins(vcpu, previous, block))
		loop_enter(vcpu, block);
}

static __attribute__((noinline)) void on_special_block(struct vcpu *vcpu, struct block *block)
{
	if (vcpu->mode == VCPU_OFF && vcpu->slot->stretch == PROFILE_NOT_COUNTED)
		return; /* the recorder in the program: many blocks */
	if (vcpu->mode & VCPU_LOOPS)
		loop_leave(vcpu);
	if (vcpu->mode & VCPU_CALLED)
		calls_look(vcpu, block);
	if ((vcpu->slot->stretch != vcpu->stretch || vcpu->mode) && !attend_before(vcpu, block))
		return;
	if (block->is_rare && !attend_to_rare(vcpu, block))
		return;
	const struct block *previous = vcpu->previous;
	if (count_block(vcpu, block))
		on_other_line(vcpu, previous, block);
}

static void on_block(unsigned index, void *userdata)
{
	struct block *block = userdata;
	if (__builtin_expect(index >= VCPUS, 0))
		return;
	struct vcpu *vcpu = &vcpu_table[index];
	if (is_in_loop(vcpu, block))
		return;
	if (__builtin_expect(vcpu_is_special(vcpu, block), 0)) {
		on_special_block(vcpu, block);
		return;
	}
	const struct block *previous = vcpu->previous;
	if (count_block(vcpu, block))
		on_other_line(vcpu, previous, block);
}

/* An access that may be to a watched line, or is recorded or sampled. */
static __attribute__((noinline)) void look_at_access(
	struct vcpu *vcpu, const struct place *place, uint64_t address, qemu_plugin_meminfo_t info)
{
	const struct profile_slot *slot = vcpu->slot;
	uint64_t line = address >> REUSE_LINE_BITS;
	if (!vcpu->sum)
		return;
	loop_settle(vcpu);
	bool again = place == vcpu->last_place && line == vcpu->last_line &&
		     slot->accesses == vcpu->last_clock;
	vcpu->last_place = place;
	vcpu->last_line = line;
	vcpu->last_clock = slot->accesses;
	if (vcpu->looks & LOOKS_RECORDER && !again)
		record_access(&vcpu->thread->recorder, place->index, address);
	uint64_t clock = slot->accesses - place->block->accesses + place->access;
	if (reuse_filtered(line))
		reuse_access(vcpu, place, line, clock, qemu_plugin_mem_is_store(info), again);
	if (!again)
		pages_access(vcpu, place, line, clock);
	if (vcpu->looks & LOOKS_SAMPLER && !again && clock >= vcpu->next_access) {
		reuse_sample(vcpu, place, line, clock, qemu_plugin_mem_is_store(info));
		if (slot->accesses <= vcpu->next_access)
			vcpu_look_no_more(vcpu, LOOKS_SAMPLER);
	}
}

static inline bool is_looked_at(uint64_t address)
{
	return __builtin_expect(reuse_filtered(address >> REUSE_LINE_BITS), 0) ||
	       __builtin_expect(vcpu_lookers != 0, 0);
}

static inline void count_access(
	struct vcpu *vcpu, const struct place *place, uint64_t address, qemu_plugin_meminfo_t info)
{
	if (is_looked_at(address))
		look_at_access(vcpu, place, address, info);
}

static void on_access(unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	if (is_looked_at(address))
		look_at_access(&vcpu_table[index % VCPUS], userdata, address, info);
}

/* The ways that are seldom taken, with the access at their end. */
static __attribute__((noinline)) void on_special_access(
	struct vcpu *vcpu, const struct place *place, uint64_t address, qemu_plugin_meminfo_t info)
{
	on_special_block(vcpu, place->block);
	count_access(vcpu, place, address, info);
}

static __attribute__((noinline)) void attend_access(struct vcpu *vcpu, const struct place *place,
	uint64_t address, qemu_plugin_meminfo_t info, const struct block *previous)
{
	attend(vcpu, previous, place->block);
	count_access(vcpu, place, address, info);
}

static __attribute__((noinline)) void begin_loop_access(
	struct vcpu *vcpu, const struct place *place, uint64_t address, qemu_plugin_meminfo_t info)
{
	loop_enter(vcpu, place->block);
	count_access(vcpu, place, address, info);
}

static __attribute__((noinline)) void on_other_line_access(struct vcpu *vcpu,
	const struct place *place, uint64_t address, qemu_plugin_meminfo_t info,
	const struct block *previous)
{
	if (__builtin_expect(change_line(vcpu, previous, place->block), 0))
		attend_access(vcpu, place, address, info, previous);
	else if (__builtin_expect(loop_begins(vcpu, previous, place->block), 0))
		begin_loop_access(vcpu, place, address, info);
	else
		count_access(vcpu, place, address, info);
}

/* The first access of a block stands for the block's execution, too: one call less. */
static void on_block_access(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	const struct place *place = userdata;
	if (__builtin_expect(index >= VCPUS, 0))
		return;
	struct vcpu *vcpu = &vcpu_table[index];
	if (is_in_loop(vcpu, place->block)) {
		count_access(vcpu, place, address, info);
		return;
	}
	if (__builtin_expect(vcpu_is_special(vcpu, place->block), 0)) {
		on_special_access(vcpu, place, address, info);
		return;
	}
	const struct block *previous = vcpu->previous;
	if (count_block(vcpu, place->block))
		on_other_line_access(vcpu, place, address, info, previous);
	else
		count_access(vcpu, place, address, info);
}

/* Of a string instruction, which may have any number: counted here, one for each line that it comes to. */
static void on_string_access(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	struct vcpu *vcpu = &vcpu_table[index % VCPUS];
	const struct place *place = userdata;
	uint64_t line = address >> REUSE_LINE_BITS;
	if (!vcpu->sum)
		return;
	bool is_store = qemu_plugin_mem_is_store(info);
	if (vcpu->string_lines[is_store] == line)
		return;
	vcpu->string_lines[is_store] = line;
	*(is_store ? &vcpu->sum->counts.stores : &vcpu->sum->counts.loads) += 1;
	uint64_t clock = vcpu->slot->accesses++;
	if (vcpu->looks & LOOKS_RECORDER) {
		record_make_room(vcpu);
		record_access(&vcpu->thread->recorder,
			place->block->is_string ? vcpu->string_index : place->index, address);
	}
	if (reuse_filtered(line))
		reuse_access(vcpu, place, line, clock, is_store, false);
	pages_access(vcpu, place, line, clock);
	if (clock >= vcpu->next_access)
		reuse_sample(vcpu, place, line, clock, is_store);
}

/* The recorder inside the program is not the program. */
static bool is_recorder(uint64_t address)
{
	return page && address < __atomic_load_n(&page->recorder_end, __ATOMIC_ACQUIRE) &&
	       address >= page->recorder_begin;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	calls_translate(tb);
	struct block *block = is_recorder(qemu_plugin_tb_vaddr(tb)) ? NULL : blocks_translate(tb);
	uint32_t first = 0;
	if (!block)
		return;
	wide_translate(tb, block);
	while (first < block->count && !block_has_operand(block, first))
		first++;
	/* Watched calls return at the begin of a block. */
	bool access_tells =
		first < block->count && block_makes_one_call(block, first) && !calls_are_watched();
	if (!access_tells)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
	for (uint32_t i = first; i < block->count; i++) {
		if (!block_has_operand(block, i))
			continue;
		qemu_plugin_vcpu_mem_cb_t call = on_access;
		if (block_code(block, i)->class == CODE_STRING)
			call = on_string_access;
		else if (i == first && access_tells)
			call = on_block_access;
		/* One for reads and writes: two on an instruction count wrongly. */
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), call,
			QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, &block->places[i]);
	}
}

static void on_vcpu_init(qemu_plugin_id_t id, unsigned index)
{
	(void)id;
	if (index >= VCPUS)
		return;
	struct vcpu *vcpu = &vcpu_table[index];
	uint64_t earlier = vcpu->earlier_accesses;
	memset(vcpu, 0, sizeof(*vcpu));
	vcpu->earlier_accesses = earlier;
	vcpu->index = (uint16_t)index;
	vcpu->slot = &vcpu->own;
	vcpu->previous = &blocks_none;
	if (page) /* the program's recorder will say when to begin */
		vcpu->own.stretch = PROFILE_NOT_COUNTED;
	vcpu->mode = VCPU_UNSTARTED;
	pace_begin(vcpu);
	vcpu->birth = calls_birth();
	(void)pthread_mutex_lock(&threads_lock);
	if (index >= vcpu_end)
		vcpu_end = index + 1;
	(void)pthread_mutex_unlock(&threads_lock);
}

/* Writes what is left of a thread and forgets it. Under the lock. */
static void end_thread(struct vcpu *vcpu)
{
	if (vcpu->thread) {
		stretch_leave(vcpu);
		record_end(vcpu);
		reuse_end(vcpu);
		thread_write(vcpu, true);
		thread_free(vcpu->thread);
		vcpu->own.accesses = 0;
		vcpu->earlier_accesses += vcpu->slot->accesses;
		vcpu->slot = &vcpu->own;
	}
	vcpu->thread = NULL;
	vcpu->sum = NULL;
	vcpu->mode = VCPU_IGNORED;
}

static void on_vcpu_exit(qemu_plugin_id_t id, unsigned index)
{
	(void)id;
	if (index >= VCPUS)
		return;
	(void)pthread_mutex_lock(&threads_lock);
	end_thread(&vcpu_table[index]);
	(void)pthread_mutex_unlock(&threads_lock);
}

static void write_all_threads(void)
{
	for (unsigned i = 0; i < vcpu_end; i++) {
		if (!vcpu_table[i].thread)
			continue;
		record_leave(&vcpu_table[i]);
		pages_write(&vcpu_table[i]);
		thread_write(&vcpu_table[i], true);
	}
	write_quality();
}

static void on_syscall(qemu_plugin_id_t id, unsigned index, int64_t number, uint64_t a1,
	uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	(void)id, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
	if (index >= VCPUS)
		return;
	pace_call(&vcpu_table[index], number, a1, a2, a3);
	if (number == SYS_prctl && a1 == PROFILE_PRCTL && page)
		take_slot(&vcpu_table[index], a2);
	calls_syscall(&vcpu_table[index], number, a1, a2);
	bool may_end = number == SYS_execve || number == SYS_execveat || number == SYS_kill ||
		       number == SYS_tkill || number == SYS_tgkill;
	if (may_end && vcpu_table[index].thread) {
		/* The emulator and all that is in it may be gone after this. */
		thread_write(&vcpu_table[index], true);
		out_flush();
	}
}

/* In the child of a fork: it is not profiled, but its threads' clocks go on. */
static void forget_process(unsigned index)
{
	(void)pthread_mutex_init(&threads_lock, NULL);
	pace_forked();
	blocks_forked();
	calls_forked();
	reuse_forked();
	out_abandon();
	profiled_pid = getpid();
	for (unsigned i = 0; i < vcpu_end; i++) {
		vcpu_table[i].thread = NULL;
		vcpu_table[i].sum = NULL;
		vcpu_table[i].mode = VCPU_IGNORED;
		vcpu_table[i].loop = NULL;
		vcpu_look_no_more(&vcpu_table[i], LOOKS_RECORDER | LOOKS_SAMPLER);
		vcpu_table[i].next_access = vcpu_table[i].next_fetch = UINT64_MAX;
	}
	vcpu_table[index].own = *vcpu_table[index].slot;
	vcpu_table[index].slot = &vcpu_table[index].own;
}

static void on_syscall_return(qemu_plugin_id_t id, unsigned index, int64_t number, int64_t result)
{
	(void)id;
	bool forks = number == SYS_fork || number == SYS_vfork || number == SYS_clone ||
		     number == SYS_clone3;
	if (forks && result == 0 && index < VCPUS && getpid() != profiled_pid)
		forget_process(index);
	if (index < VCPUS)
		pace_resume(&vcpu_table[index]);
}

static void on_end(qemu_plugin_id_t id, void *userdata)
{
	(void)id, (void)userdata;
	if (getpid() != profiled_pid)
		return;
	(void)pthread_mutex_lock(&threads_lock);
	write_all_threads();
	out_record(RAW_END, NULL, 0, NULL, 0);
	out_flush();
	(void)pthread_mutex_unlock(&threads_lock);
}

static int map_page(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	calls_page(path);
	void *mapped = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped == MAP_FAILED)
		return -1;
	page = mapped;
	return page->version == PROFILE_PAGE_VERSION ? 0 : -1;
}

/* Of an option that begins so; NULL: of another. */
static const char *value_of(const char *option, const char *begin)
{
	size_t length = strlen(begin);
	return strncmp(option, begin, length) == 0 ? option + length : NULL;
}

static int set_option(const char *option)
{
	const char *value;
	if ((value = value_of(option, "out=")))
		return out_open(value, backend);
	if ((value = value_of(option, "page=")))
		return map_page(value);
	if ((value = value_of(option, "program=")))
		return calls_watch(value);
	if ((value = value_of(option, "timeline=")))
		return calls_timeline(value);
	if ((value = value_of(option, "backend="))) {
		backend = value; /* the arguments stay */
	} else if (strcmp(option, "pace=on") == 0) {
		pace_init(vcpu_table, &vcpu_end);
	} else if (strcmp(option, "trace=on") == 0) {
		record_everything();
		blocks_write_all();
	} else {
		return -1;
	}
	return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (info->system_emulation || strcmp(info->target_name, "x86_64") != 0) {
		(void)fprintf(stderr, "corecast: profiles programs for x86-64 only\n");
		return -1;
	}
	for (int i = 0; i < argc; i++) {
		if (set_option(argv[i])) {
			(void)fprintf(stderr, "corecast: cannot use '%s'\n", argv[i]);
			return -1;
		}
	}
	profiled_pid = getpid();
	reuse_init();
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
	qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_exit);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
