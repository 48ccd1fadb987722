/* SPDX-License-Identifier: MIT */
#include "profiled.h"

#include "call_trials.h"
#include "real.h"
#include "traced_thread.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

struct profile_page *profiled_page;

/* Where the linker put this library. */
extern const char __ehdr_start[] PROFILED_HIDDEN;
extern const char etext[] PROFILED_HIDDEN;

bool profiled_attach(const char *path)
{
	struct stat info;
	int fd = own_open(path, O_RDWR);
	if (fd < 0)
		return false;
	void *map = MAP_FAILED;
	if (fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof(struct profile_page))
		map = mmap(NULL, sizeof(struct profile_page), PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);
	own_close(fd);
	if (map == MAP_FAILED)
		return false;
	struct profile_page *page = map;
	if (page->version != PROFILE_PAGE_VERSION) {
		(void)munmap(map, sizeof(*page)); /* at worst it stays mapped */
		return false;
	}
	page->recorder_begin = (uintptr_t)__ehdr_start;
	__atomic_store_n(&page->recorder_end, (uintptr_t)etext, __ATOMIC_RELEASE);
	profiled_page = page;
	return true;
}

static long make_trial(long number, long a, long b, long c, long d)
{
	return syscall(number, a, b, c, d, 0, 0);
}

void profiled_try_calls(void)
{
	(void)syscall(SYS_prctl, PROFILE_PRCTL, PROFILE_TRIALS_BEGIN,
		NULL); /* fails: only emulators know it */
	call_trials(make_trial);
	(void)syscall(SYS_prctl, PROFILE_PRCTL, PROFILE_TRIALS_END, NULL); /* as above */
}

static uint32_t find_slot(struct profile_page *page, uint32_t tid)
{
	for (uint32_t i = 0; i + 1 < PROFILE_SLOTS; i++) {
		uint32_t index = (tid + i) % (PROFILE_SLOTS - 1), nobody = 0;
		if (__atomic_compare_exchange_n(&page->slots[index].tid, &nobody, tid, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return index;
	}
	__atomic_add_fetch(&page->overflow, 1, __ATOMIC_RELAXED);
	return PROFILE_SLOTS - 1;
}

struct profile_slot *profiled_claim(uint32_t tid)
{
	struct profile_page *page = profiled_page;
	if (!page)
		return NULL;
	uint32_t index = find_slot(page, tid);
	struct profile_slot *slot = &page->slots[index];
	slot->pid = (uint32_t)getpid();
	profile_set_stretch(slot, PROFILE_NOT_COUNTED);
	slot->instructions = 0;
	slot->accesses = 0;
	slot->own_calls = 0;
	(void)syscall(SYS_prctl, PROFILE_PRCTL, index, slot); /* fails: only emulators know it */
	return slot;
}

void profiled_give_back(struct profile_slot *slot)
{
	if (!slot || !profiled_page)
		return;
	profile_set_stretch(slot, PROFILE_NOT_COUNTED);
	(void)syscall(SYS_prctl, PROFILE_PRCTL, PROFILE_SLOTS, NULL); /* as above */
	if (slot != &profiled_page->slots[PROFILE_SLOTS - 1])
		__atomic_store_n(&slot->tid, 0, __ATOMIC_RELEASE);
}

void profiled_pause_slowly(void)
{
	if (self.slot)
		profile_set_stretch(self.slot, PROFILE_NOT_COUNTED);
}

void profiled_resume_slowly(void)
{
	if (self.slot && !self.is_busy)
		profile_set_stretch(self.slot, self.stretch);
}
