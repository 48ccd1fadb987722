/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin: what QEMU calls. `-plugin FILE[,backend=NAME],out=RAW[,page=PAGE][,trace=on]`; PAGE is that of preload/profile_page.h,
 * without which each thread is one stretch; trace: also a full trace (trace_raw.h).
 *
 * Each executed block costs one short function: two comparisons and additions of vectors; its first access calls it
 * where that is sure to be called once. Whatever is rare waits for one of the comparisons: another stretch, or
 * `next_instructions`.
 */
#include "blocks.h"
#include "branches.h"
#include "clock.h"
#include "code_class.h"
#include "fetch.h"
#include "out.h"
#include "preload/profile_page.h"
#include "record.h"
#include "reuse.h"
#include "thread.h"

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
	VCPUS = PROFILE_SLOTS,
	/* Before a lane of 16 bits overflows: a block adds 512 at most. */
	ATTEND_EVERY = 32000,
	/* Doubled each time, up to a second. */
	WRITE_FIRST_NS = 50000000,
	WRITE_EVERY_NS = 1000000000,
};

static struct vcpu vcpus[VCPUS];
static const struct block no_block = { .end = UINT64_MAX, .last_line = UINT64_MAX };
static unsigned vcpu_end; /* all that have been used are before */
static struct profile_page *page;
static pid_t profiled_pid;
static const char *backend = "qemu";
/* Threads come and go; held for that, and to write at the program's end. */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;

/* Accesses of all threads but this one. */
static uint64_t accesses_of_others(const struct vcpu *vcpu)
{
	uint64_t total = vcpu->earlier_accesses;
	for (unsigned i = 0; i < vcpu_end; i++) {
		if (&vcpus[i] != vcpu && vcpus[i].slot)
			total += vcpus[i].earlier_accesses + vcpus[i].slot->accesses;
	}
	return total;
}

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

/* Makes the thread that the virtual cpu runs from now on. Without memory it is run, not counted. */
static void start_thread(struct vcpu *vcpu)
{
	(void)pthread_mutex_lock(&threads_lock);
	vcpu->thread = thread_new();
	vcpu->mode = vcpu->thread ? 0 : VCPU_IGNORED;
	(void)pthread_mutex_unlock(&threads_lock);
	if (!vcpu->thread)
		return;
	vcpu->thread->written_ns = clock_ns();
	vcpu->thread->write_every_ns = WRITE_FIRST_NS;
	vcpu->next_access = vcpu->next_fetch = UINT64_MAX;
	if (!record_start(vcpu))
		out_count_lost();
	vcpu->stretch = PROFILE_NOT_COUNTED; /* so that the first stretch is entered */
	vcpu->mode |= VCPU_OFF;
}

static void leave_stretch(struct vcpu *vcpu)
{
	vcpu_settle(vcpu);
	record_leave(vcpu);
	reuse_leave(vcpu);
	fetch_leave(vcpu);
	vcpu->previous = &no_block;
	vcpu->sum = NULL;
}

/* When the thread is to be attended to again. */
static void plan(struct vcpu *vcpu)
{
	uint64_t next = ATTEND_EVERY, micro = record_look(vcpu), window = branches_look(vcpu);
	if (micro < next)
		next = micro;
	if (window < next)
		next = window;
	vcpu->next_instructions = vcpu->slot->instructions + next;
}

static void enter_stretch(struct vcpu *vcpu, uint64_t stretch)
{
	leave_stretch(vcpu);
	vcpu->stretch = stretch;
	vcpu->mode &= ~(uint32_t)VCPU_OFF;
	if (stretch != PROFILE_NOT_COUNTED)
		vcpu->sum = thread_sum(vcpu->thread, stretch);
	if (!vcpu->sum) {
		vcpu->mode |= VCPU_OFF;
		return;
	}
	vcpu->sum->counts.stretches++;
	record_enter(vcpu);
	reuse_enter(vcpu);
	fetch_enter(vcpu);
	plan(vcpu);
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
		enter_stretch(vcpu, stretch);
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
		vcpu->looks |= LOOKS_SAMPLER;
	if (vcpu->slot->instructions < vcpu->next_instructions)
		return;
	vcpu_settle(vcpu);
	vcpu->next_instructions = vcpu->slot->instructions + ATTEND_EVERY;
	if (!vcpu->sum)
		return;
	plan(vcpu);
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

/* The block's part that every execution has. */
static inline void count_block(struct vcpu *vcpu, const struct block *block)
{
	struct profile_slot *slot = vcpu->slot;
	const struct block *previous = vcpu->previous;
	vcpu->previous = block;
	for (unsigned i = 0; i < LANE_PARTS; i++)
		vcpu->counts[i] += block->counts[i];
	uint64_t accesses = slot->accesses + block->accesses;
	uint64_t instructions = slot->instructions + block->count;
	slot->accesses = accesses;
	slot->instructions = instructions;
	if (__builtin_expect(
		    (accesses > vcpu->next_access) | (instructions >= vcpu->next_instructions), 0))
		attend_after(vcpu);
	fetch_block(vcpu, previous, block);
}

static __attribute__((noinline)) void on_special_block(struct vcpu *vcpu, struct block *block)
{
	if (vcpu->mode == VCPU_OFF && vcpu->slot->stretch == PROFILE_NOT_COUNTED)
		return; /* the recorder in the program: many blocks */
	if ((vcpu->slot->stretch != vcpu->stretch || vcpu->mode) && !attend_before(vcpu, block))
		return;
	if ((block->new_lines || block->has_string) && !attend_to_rare(vcpu, block))
		return;
	count_block(vcpu, block);
}

static inline void execute_block(struct vcpu *vcpu, struct block *block)
{
	bool is_special = (vcpu->slot->stretch != vcpu->stretch) | (vcpu->mode != 0) |
			  (block->new_lines != 0) | block->has_string;
	if (__builtin_expect(is_special, 0))
		on_special_block(vcpu, block);
	else
		count_block(vcpu, block);
}

static void on_block(unsigned index, void *userdata)
{
	if (__builtin_expect(index < VCPUS, 1))
		execute_block(&vcpus[index], userdata);
}

/* An access that may be to a watched line, or is recorded or sampled. */
static __attribute__((noinline)) void look_at_access(
	struct vcpu *vcpu, const struct place *place, uint64_t address, qemu_plugin_meminfo_t info)
{
	const struct profile_slot *slot = vcpu->slot;
	uint64_t line = address >> REUSE_LINE_BITS;
	if (!vcpu->sum)
		return;
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
	if (vcpu->looks & LOOKS_SAMPLER && !again && clock >= vcpu->next_access) {
		reuse_sample(vcpu, line, clock);
		if (slot->accesses <= vcpu->next_access)
			vcpu->looks &= (uint8_t)~LOOKS_SAMPLER;
	}
}

static void on_access(unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	struct vcpu *vcpu = &vcpus[index % VCPUS];
	if (__builtin_expect(vcpu->looks | reuse_filtered(address >> REUSE_LINE_BITS), 0))
		look_at_access(vcpu, userdata, address, info);
}

/* The first access of a block stands for the block's execution, too: one call less. */
static void on_block_access(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	const struct place *place = userdata;
	if (__builtin_expect(index >= VCPUS, 0))
		return;
	execute_block(&vcpus[index], place->block);
	on_access(index, info, address, userdata);
}

/* Of a string instruction, which may have any number: counted here, one for each line that it comes to. */
static void on_string_access(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	struct vcpu *vcpu = &vcpus[index % VCPUS];
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
	if (clock >= vcpu->next_access)
		reuse_sample(vcpu, line, clock);
}

/* The recorder inside the program is not the program. */
static bool is_recorder(uint64_t address)
{
	return page && address < __atomic_load_n(&page->recorder_end, __ATOMIC_ACQUIRE) &&
	       address >= page->recorder_begin;
}

static const struct raw_code *code_of(const struct block *block, uint32_t index)
{
	return blocks_code(block->places[index].code);
}

static enum code_class class_of(const struct block *block, uint32_t index)
{
	return code_of(block, index)->class;
}

static bool has_operand(const struct block *block, uint32_t index)
{
	return code_of(block, index)->flags & (CODE_LOAD | CODE_STORE);
}

/* Whether each execution of the instruction makes exactly one call: the emulator splits vectors. */
static bool makes_one_call(const struct block *block, uint32_t index)
{
	const struct raw_code *code = code_of(block, index);
	bool is_either = !(code->flags & CODE_LOAD) != !(code->flags & CODE_STORE);
	bool is_small = code->data_bytes == 1 || code->data_bytes == 2 || code->data_bytes == 4 ||
			code->data_bytes == 8;
	switch (code->class) {
	case CODE_MOVE:
	case CODE_ALU:
	case CODE_SHIFT:
	case CODE_MULTIPLY:
	case CODE_DIVIDE:
	case CODE_JUMP:
	case CODE_FP_ADD:
	case CODE_FP_MULTIPLY:
	case CODE_FP_DIVIDE:
		return is_either && is_small && !(code->flags & CODE_CONDITIONAL);
	default:
		return false;
	}
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	if (is_recorder(qemu_plugin_tb_vaddr(tb)))
		return;
	struct block *block = blocks_translate(tb);
	if (!block)
		return;
	uint32_t first = 0;
	while (first < block->count && !has_operand(block, first))
		first++;
	bool access_tells = first < block->count && makes_one_call(block, first);
	if (!access_tells)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
	for (uint32_t i = first; i < block->count; i++) {
		if (!has_operand(block, i))
			continue;
		qemu_plugin_vcpu_mem_cb_t call = on_access;
		if (class_of(block, i) == CODE_STRING)
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
	struct vcpu *vcpu = &vcpus[index];
	uint64_t earlier = vcpu->earlier_accesses;
	memset(vcpu, 0, sizeof(*vcpu));
	vcpu->earlier_accesses = earlier;
	vcpu->index = (uint16_t)index;
	vcpu->slot = &vcpu->own;
	vcpu->previous = &no_block;
	if (page) /* the program's recorder will say when to begin */
		vcpu->own.stretch = PROFILE_NOT_COUNTED;
	vcpu->mode = VCPU_UNSTARTED;
	(void)pthread_mutex_lock(&threads_lock);
	if (index >= vcpu_end)
		vcpu_end = index + 1;
	(void)pthread_mutex_unlock(&threads_lock);
}

/* Writes what is left of a thread and forgets it. Under the lock. */
static void end_thread(struct vcpu *vcpu)
{
	if (vcpu->thread) {
		leave_stretch(vcpu);
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
	end_thread(&vcpus[index]);
	(void)pthread_mutex_unlock(&threads_lock);
}

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

static void write_all_threads(void)
{
	for (unsigned i = 0; i < vcpu_end; i++) {
		if (!vcpus[i].thread)
			continue;
		record_leave(&vcpus[i]);
		thread_write(&vcpus[i], true);
	}
	write_quality();
}

static void on_syscall(qemu_plugin_id_t id, unsigned index, int64_t number, uint64_t a1,
	uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	(void)id, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
	if (index >= VCPUS)
		return;
	if (number == SYS_prctl && a1 == PROFILE_PRCTL && page)
		take_slot(&vcpus[index], a2);
	bool may_end = number == SYS_execve || number == SYS_execveat || number == SYS_kill ||
		       number == SYS_tkill || number == SYS_tgkill;
	if (may_end && vcpus[index].thread) {
		/* The emulator and all that is in it may be gone after this. */
		thread_write(&vcpus[index], true);
		out_flush();
	}
}

/* In the child of a fork: it is not profiled, but its threads' clocks go on. */
static void forget_process(unsigned index)
{
	(void)pthread_mutex_init(&threads_lock, NULL);
	blocks_forked();
	reuse_forked();
	out_abandon();
	profiled_pid = getpid();
	for (unsigned i = 0; i < vcpu_end; i++) {
		vcpus[i].thread = NULL;
		vcpus[i].sum = NULL;
		vcpus[i].mode = VCPU_IGNORED;
		vcpus[i].looks = 0;
		vcpus[i].next_access = vcpus[i].next_fetch = UINT64_MAX;
	}
	vcpus[index].own = *vcpus[index].slot;
	vcpus[index].slot = &vcpus[index].own;
}

static void on_syscall_return(qemu_plugin_id_t id, unsigned index, int64_t number, int64_t result)
{
	(void)id;
	bool forks = number == SYS_fork || number == SYS_vfork || number == SYS_clone ||
		     number == SYS_clone3;
	if (forks && result == 0 && index < VCPUS && getpid() != profiled_pid)
		forget_process(index);
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
	void *mapped = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped == MAP_FAILED)
		return -1;
	page = mapped;
	return page->version == PROFILE_PAGE_VERSION ? 0 : -1;
}

static int set_option(const char *option)
{
	const char *value = strchr(option, '=');
	size_t length = value ? (size_t)(value++ - option) : 0;
	if (length == 3 && strncmp(option, "out", 3) == 0)
		return out_open(value, backend);
	if (length == 7 && strncmp(option, "backend", 7) == 0) {
		backend = value; /* the arguments stay */
		return 0;
	}
	if (length == 4 && strncmp(option, "page", 4) == 0)
		return map_page(value);
	if (length == 5 && strcmp(option, "trace=on") == 0) {
		record_everything();
		blocks_write_all();
		return 0;
	}
	return -1;
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
	reuse_init(accesses_of_others);
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
	qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_exit);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
