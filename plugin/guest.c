/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest.h"

#include "calls.h"
#include "out.h"
#include "pace.h"
#include "pages.h"
#include "pending.h"
#include "preload/kernel_clock.h"
#include "record.h"
#include "reuse.h"
#include "stretch.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Until counts are written first; then twice as long each time (execute.c). */
enum { WRITE_FIRST_NS = 50000000 };

static struct profile_page *page;
static pid_t profiled_pid;
/* Threads come and go; held for that, and to write at the program's end. */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;

int guest_map_page(const char *path)
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

bool guest_is_recorder(uint64_t address)
{
	return page && address < __atomic_load_n(&page->recorder_end, __ATOMIC_ACQUIRE) &&
	       address >= page->recorder_begin;
}

void guest_write_quality(void)
{
	struct raw_quality quality = { .lost = out_lost(),
		.undecoded = blocks_undecoded(),
		.unpaced = pace_unpaced(),
		.micro_traces = record_count(),
		.writers = reuse_writers() };
	if (quality.micro_traces)
		quality.micro_period =
			(double)thread_instructions_written() / (double)quality.micro_traces;
	reuse_quality(&quality.reuse_samples, &quality.reuse_rate);
	out_record(RAW_QUALITY, &quality, sizeof(quality), NULL, 0);
}

/*
 * Of the page, which the guest's recorder writes to; PROFILE_SLOTS: its own again. So is the last slot, which all have who found
 * none: one would put off when another one is looked at.
 */
static void take_slot(struct vcpu *vcpu, uint64_t slot)
{
	bool is_alone = slot + 1 < PROFILE_SLOTS;
	struct profile_slot *shared = is_alone ? &page->slots[slot] : &vcpu->own;
	if (vcpu->slot == shared)
		return;
	vcpu_settle(vcpu);
	vcpu->own.stretch = PROFILE_NOT_COUNTED; /* from now on it is nobody's */
	shared->instructions = vcpu->slot->instructions;
	shared->accesses = vcpu->slot->accesses;
	shared->look_at = 0;
	vcpu->slot = shared;
	if (vcpu->thread && shared->tid != 0) { /* as its own process knows it */
		vcpu->thread->pid = shared->pid;
		vcpu->thread->tid = shared->tid;
	}
}

void guest_prctl(struct vcpu *vcpu, uint64_t slot)
{
	if (page)
		take_slot(vcpu, slot);
}

void guest_begin(void)
{
	profiled_pid = getpid();
}

void guest_add_vcpu(unsigned index)
{
	struct vcpu *vcpu = &vcpu_table[index];
	uint64_t earlier = vcpu->earlier_accesses;
	memset(vcpu, 0, sizeof(*vcpu));
	vcpu->earlier_accesses = earlier;
	vcpu->index = (uint16_t)index;
	vcpu->slot = &vcpu->own;
	vcpu->previous = &blocks_none;
	pending_forget(vcpu);
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

void guest_start_thread(struct vcpu *vcpu)
{
	(void)pthread_mutex_lock(&threads_lock);
	vcpu->thread = thread_new();
	vcpu->mode = vcpu->thread ? 0 : VCPU_IGNORED;
	(void)pthread_mutex_unlock(&threads_lock);
	if (!vcpu->thread)
		return;
	vcpu->host_tid = gettid();
	take_slot(vcpu, calls_thread_start(vcpu));
	vcpu->thread->written_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	vcpu->thread->write_every_ns = WRITE_FIRST_NS;
	vcpu->next_access = vcpu->next_fetch = UINT64_MAX;
	if (!record_start(vcpu))
		out_count_lost();
	vcpu->stretch = PROFILE_NOT_COUNTED; /* so that the first stretch is entered */
	vcpu->mode |= VCPU_OFF;
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
	pending_forget(vcpu);
}

void guest_end_thread(struct vcpu *vcpu)
{
	(void)pthread_mutex_lock(&threads_lock);
	end_thread(vcpu);
	(void)pthread_mutex_unlock(&threads_lock);
}

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
		pending_forget(&vcpu_table[i]);
		vcpu_look_no_more(&vcpu_table[i], LOOKS_RECORDER | LOOKS_SAMPLER);
		vcpu_table[i].next_access = vcpu_table[i].next_fetch = UINT64_MAX;
	}
	vcpu_table[index].own = *vcpu_table[index].slot;
	vcpu_table[index].slot = &vcpu_table[index].own;
}

void guest_forked(unsigned index)
{
	if (getpid() != profiled_pid)
		forget_process(index);
}

bool guest_is_one_thread(void)
{
	unsigned threads = 0;
	(void)pthread_mutex_lock(&threads_lock);
	for (unsigned i = 0; i < vcpu_end; i++)
		threads += vcpu_table[i].thread != NULL;
	(void)pthread_mutex_unlock(&threads_lock);
	return threads == 1;
}

void guest_begin_again(void)
{
	if (page)
		__atomic_store_n(&page->recorder_end, 0, __ATOMIC_RELEASE);
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
	guest_write_quality();
}

void guest_end(void)
{
	if (getpid() != profiled_pid)
		return;
	(void)pthread_mutex_lock(&threads_lock);
	write_all_threads();
	out_record(RAW_END, NULL, 0, NULL, 0);
	out_flush();
	(void)pthread_mutex_unlock(&threads_lock);
}
