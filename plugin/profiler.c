/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin: what QEMU calls. `-plugin FILE,out=RAW[,page=PAGE]`; PAGE is that of preload/profile_page.h, without
 * which each thread is one stretch.
 *
 * Each executed block costs one short function: two comparisons and additions of vectors. Whatever is rare waits for
 * one of the comparisons: another stretch, or `next_instructions`.
 */
#include "blocks.h"
#include "code_class.h"
#include "out.h"
#include "preload/profile_page.h"
#include "thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

QEMU_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
QEMU_EXPORT int qemu_plugin_install(
	qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

enum {
	VCPUS = PROFILE_SLOTS,
	/* Before a lane of 16 bits overflows: less the longest block, 512 instructions that each add 2 at most. */
	ATTEND_EVERY = 32000,
	WRITE_EVERY_NS = 1000000000,
};

static struct vcpu vcpus[VCPUS];
static unsigned vcpu_end; /* all that have been used are before */
static struct profile_page *page;
static pid_t profiled_pid;
/* Threads come and go; held for that, and to write at the program's end. */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void)
{
	struct timespec time;
	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void write_quality(void)
{
	struct raw_quality quality = { .lost = out_lost(), .undecoded = blocks_undecoded() };
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
	vcpu->thread->written_ns = now_ns();
	vcpu->stretch = PROFILE_NOT_COUNTED; /* so that the first stretch is entered */
}

static void leave_stretch(struct vcpu *vcpu)
{
	vcpu_settle(vcpu);
	vcpu->previous = NULL;
	vcpu->sum = NULL;
}

static void enter_stretch(struct vcpu *vcpu, uint64_t stretch)
{
	leave_stretch(vcpu);
	vcpu->stretch = stretch;
	if (stretch == PROFILE_NOT_COUNTED) {
		vcpu->mode |= VCPU_OFF;
		return;
	}
	vcpu->mode &= ~(uint32_t)VCPU_OFF;
	vcpu->sum = thread_sum(vcpu->thread, stretch);
	if (vcpu->sum)
		vcpu->sum->counts.stretches++;
}

/* Before a block, when there is something special about the virtual cpu. Whether the block counts. */
static bool attend_before(struct vcpu *vcpu)
{
	if (vcpu->mode & VCPU_UNSTARTED)
		start_thread(vcpu);
	if (vcpu->mode & VCPU_IGNORED)
		return vcpu->slot->stretch != PROFILE_NOT_COUNTED;
	uint64_t stretch = vcpu->slot->stretch;
	if (stretch != vcpu->stretch)
		enter_stretch(vcpu, stretch);
	return !(vcpu->mode & VCPU_OFF);
}

/* After `next_instructions`. */
static void attend_after(struct vcpu *vcpu)
{
	vcpu_settle(vcpu);
	vcpu->next_instructions = vcpu->slot->instructions + ATTEND_EVERY;
	if (!vcpu->thread)
		return;
	uint64_t now = now_ns();
	if (now - vcpu->thread->written_ns < WRITE_EVERY_NS)
		return;
	vcpu->thread->written_ns = now;
	thread_write(vcpu);
	write_quality();
	out_flush();
}

static void on_block(unsigned index, void *userdata)
{
	if (__builtin_expect(index >= VCPUS, 0))
		return;
	struct vcpu *vcpu = &vcpus[index];
	const struct block *block = userdata;
	if (__builtin_expect((vcpu->slot->stretch != vcpu->stretch) | (vcpu->mode != 0), 0) &&
		!attend_before(vcpu))
		return;
	struct profile_slot *slot = vcpu->slot;
	const struct block *previous = vcpu->previous;
	vcpu->previous = block;
	/* The next element of a repeated string instruction is no instruction of its own. */
	if (__builtin_expect(block->starts_with_string, 0) && previous == block)
		return;
	for (unsigned i = 0; i < LANE_PARTS; i++)
		vcpu->counts[i] += block->counts[i];
	if (!previous || previous->last_line != block->first_line)
		((uint16_t *)vcpu->counts)[LANE_FETCHES]++;
	slot->accesses += block->accesses;
	slot->instructions += block->count;
	if (__builtin_expect(slot->instructions >= vcpu->next_instructions, 0))
		attend_after(vcpu);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	struct block *block = blocks_translate(tb);
	if (!block)
		return;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void on_vcpu_init(qemu_plugin_id_t id, unsigned index)
{
	(void)id;
	if (index >= VCPUS)
		return;
	struct vcpu *vcpu = &vcpus[index];
	memset(vcpu, 0, sizeof(*vcpu));
	vcpu->slot = &vcpu->own;
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
		thread_write(vcpu);
		thread_free(vcpu->thread);
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
	if (!page || slot >= PROFILE_SLOTS || vcpu->slot == &page->slots[slot])
		return;
	vcpu_settle(vcpu);
	struct profile_slot *shared = &page->slots[slot];
	shared->instructions = vcpu->slot->instructions;
	shared->accesses = vcpu->slot->accesses;
	vcpu->slot = shared;
}

static void write_all_threads(void)
{
	for (unsigned i = 0; i < vcpu_end; i++) {
		if (vcpus[i].thread)
			thread_write(&vcpus[i]);
	}
	write_quality();
}

static void on_syscall(qemu_plugin_id_t id, unsigned index, int64_t number, uint64_t a1,
	uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	(void)id, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
	if (index >= VCPUS)
		return;
	if (number == PROFILE_SYSCALL)
		take_slot(&vcpus[index], a1);
	if ((number == SYS_execve || number == SYS_execveat) && vcpus[index].thread) {
		/* The emulator and all that is in it may be gone after this. */
		thread_write(&vcpus[index]);
		out_flush();
	}
}

/* In the child of a fork: it is not profiled, but its threads' clocks go on. */
static void forget_process(unsigned index)
{
	(void)pthread_mutex_init(&threads_lock, NULL);
	blocks_forked();
	out_abandon();
	profiled_pid = getpid();
	for (unsigned i = 0; i < vcpu_end; i++) {
		vcpus[i].thread = NULL;
		vcpus[i].sum = NULL;
		vcpus[i].mode = VCPU_IGNORED;
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
		return out_open(value);
	if (length == 4 && strncmp(option, "page", 4) == 0)
		return map_page(value);
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
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
	qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_exit);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
