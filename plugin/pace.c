/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pace.h"

#include "preload/kernel_clock.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	/* A turn takes ten microseconds or more; a pause takes far longer than it should where waking up is slow. */
	BRIEF_NS = 50000,
	BRIEF_PAUSES = 100, /* of the processor, between two looks at the other one's line */
	PAUSE_NS = 20000,
	STUCK_NS = 20000000, /* so long without progress is not waited for, */
	CROWDED_NS = 500000000, /* or so long where it only has no core */
	SPIN_LOOK_NS = 1000000, /* who is not counted is looked at so often, */
	SPIN_NS =
		2000000, /* and not waited for once it had a core for so long: it waits for others itself */
	/* What is lost by waiting for those: a quarter of the time, and this. */
	LOST_NS = 200000000,
	LOST_PART = 4,
	INSTRUCTIONS_A_NS = 3, /* about one a cycle of today's processors */
	YIELD_NS = 500, /* of sched_yield(), whose time here is that of others, too */
};

/*
 * Of a virtual cpu; written by its own thread, but for `stuck_at`, and by who wakes it. Threads that lock come here a
 * million times a second: a line for each, and what has not changed is not written.
 */
struct pace {
	_Alignas(64) atomic_uint_fast64_t lifted; /* added to its instructions is its progress */
	atomic_uint_fast64_t stuck_at; /* progress at which it is no longer waited for */
	atomic_bool waits; /* in a system call, and nobody has woken it */
	/* Under the lock: the futex that it waits for, since when of all; 0: none. */
	uint64_t futex, order;
	uint64_t next_look, next_spent; /* progress; its own */
};

static struct pace paces[PROFILE_SLOTS];
static atomic_uint_fast64_t slowest; /* progress of who was last in the field, so far */
static atomic_uint_fast64_t lost_ns;
static atomic_uint_fast64_t unpaced; /* instructions */
static pthread_mutex_t futex_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t futex_waits;
static uint64_t begin_ns;
static unsigned cores; /* that the process may use */
static bool is_on;

void pace_init(void)
{
	is_on = true;
	begin_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	cpu_set_t allowed;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
		cores = (unsigned)CPU_COUNT(&allowed);
}

/* None while a virtual cpu is made. */
static const struct profile_slot *slot_of(const struct vcpu *vcpu)
{
	static const struct profile_slot nobody = { .stretch = PROFILE_NOT_COUNTED };
	const struct profile_slot *slot = __atomic_load_n(&vcpu->slot, __ATOMIC_RELAXED);
	return slot ? slot : &nobody;
}

static uint64_t progress_of(const struct vcpu *vcpu)
{
	return atomic_load_explicit(&paces[vcpu->index].lifted, memory_order_relaxed) +
	       __atomic_load_n(&slot_of(vcpu)->instructions, __ATOMIC_RELAXED);
}

static bool is_behind(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

static void lift(const struct vcpu *vcpu)
{
	uint64_t progress = progress_of(vcpu);
	uint64_t least = atomic_load_explicit(&slowest, memory_order_relaxed);
	if (is_behind(progress, least))
		paces[vcpu->index].lifted += least - progress;
}

void pace_begin(const struct vcpu *vcpu)
{
	struct pace *pace = &paces[vcpu->index];
	pace->waits = false;
	pace->futex = 0;
	pace->lifted = 0;
	pace->next_look = pace->next_spent = 0;
	pace->stuck_at = UINT64_MAX;
	lift(vcpu);
}

static void wait_at(struct pace *pace, uint64_t futex)
{
	(void)pthread_mutex_lock(&futex_lock);
	pace->futex = futex;
	pace->order = futex_waits++;
	(void)pthread_mutex_unlock(&futex_lock);
}

/* The kernel wakes who has waited longest. Under the lock. */
static const struct vcpu *first_at(uint64_t futex)
{
	const struct vcpu *found = NULL;
	for (unsigned i = 0; i < vcpu_end; i++)
		if (paces[i].futex == futex &&
			(!found || paces[i].order < paces[found->index].order))
			found = &vcpu_table[i];
	return found;
}

/* Whom a thread wakes runs from now on, though it may take long until it has a core. */
static void wake_at(uint64_t futex, uint64_t count)
{
	const struct vcpu *woken = NULL;
	(void)pthread_mutex_lock(&futex_lock);
	while (count-- > 0 && (woken = first_at(futex)) != NULL) {
		paces[woken->index].futex = 0;
		lift(woken);
		paces[woken->index].waits = false;
	}
	(void)pthread_mutex_unlock(&futex_lock);
}

/* Others could not be said to be ahead of who makes room for a thread, or starts it: it is at work. */
static bool may_wait(int64_t number, uint64_t futex_operation)
{
	switch (number) {
	case SYS_mmap:
	case SYS_mprotect:
	case SYS_madvise:
	case SYS_munmap:
	case SYS_brk:
	case SYS_rt_sigprocmask:
	case SYS_set_robust_list:
	case SYS_clone:
	case SYS_clone3:
		return false;
	case SYS_futex:
		return futex_operation != FUTEX_WAKE && futex_operation != FUTEX_WAKE_BITSET;
	default:
		return true;
	}
}

void pace_call(const struct vcpu *vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3)
{
	if (!is_on)
		return;
	uint64_t operation = a2 & FUTEX_CMD_MASK;
	if (number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET))
		wait_at(&paces[vcpu->index], a1);
	if (number == SYS_sched_yield)
		pace_spend(vcpu, YIELD_NS);
	if (may_wait(number, operation))
		paces[vcpu->index].waits = true;
	if (number == SYS_futex && (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET))
		wake_at(a1, a3 & UINT32_MAX);
}

void pace_resume(const struct vcpu *vcpu)
{
	struct pace *pace = &paces[vcpu->index];
	if (!is_on)
		return;
	if (pace->futex != 0)
		wait_at(pace, 0);
	lift(vcpu);
	if (atomic_load_explicit(&pace->waits, memory_order_relaxed))
		pace->waits = false;
}

/* Also what is not counted: a thread that is to start, or to go on, or in its recorder, may lose its core there. */
bool pace_runs(const struct vcpu *vcpu)
{
	uint32_t mode = __atomic_load_n(&vcpu->mode, __ATOMIC_RELAXED);
	return !is_on || (!(mode & VCPU_IGNORED) && !paces[vcpu->index].waits);
}

static bool counts(const struct vcpu *vcpu)
{
	return __atomic_load_n(&slot_of(vcpu)->stretch, __ATOMIC_RELAXED) != PROFILE_NOT_COUNTED;
}

/* Of such progress: whether it is waited for. */
static bool runs(const struct vcpu *vcpu, uint64_t progress)
{
	return pace_runs(vcpu) && paces[vcpu->index].stuck_at != progress;
}

static bool is_far_behind(uint64_t progress, uint64_t mine)
{
	return is_behind(progress + PACE_TURN, mine);
}

/* Who runs beside this one. */
struct field {
	const struct vcpu *last; /* of those that are waited for; NULL: nobody */
	uint64_t progress; /* its */
	unsigned count; /* that do not wait */
	bool is_torn; /* somebody who does not wait is far behind all the same */
};

static struct field look_around(const struct vcpu *vcpu, uint64_t mine)
{
	struct field field = { 0 };
	for (unsigned i = 0; i < vcpu_end; i++) {
		const struct vcpu *other = &vcpu_table[i];
		uint64_t progress = progress_of(other);
		if (other == vcpu || !pace_runs(other))
			continue;
		field.count++;
		field.is_torn |= counts(other) && is_far_behind(progress, mine);
		if (runs(other, progress) && (!field.last || is_behind(progress, field.progress))) {
			field.last = other;
			field.progress = progress;
		}
	}
	return field;
}

static void move_on(uint64_t progress)
{
	if (is_behind(slowest, progress))
		slowest = progress; /* another thread's may be lost: theirs comes again */
}

static void move_on_with(const struct field *field, uint64_t mine)
{
	move_on(field->last && is_behind(field->progress, mine) ? field->progress : mine);
}

/* Who runs alone takes all along: whoever starts or wakes up later is not behind by what it did before. */
void pace_spend(const struct vcpu *vcpu, uint64_t ns)
{
	struct pace *pace = &paces[vcpu->index];
	if (!is_on || ns == 0)
		return;
	pace->lifted += ns * INSTRUCTIONS_A_NS;
	uint64_t mine = progress_of(vcpu);
	if (is_behind(mine, pace->next_spent))
		return;
	pace->next_spent = mine + PACE_TURN / 2;
	struct field field = look_around(vcpu, mine);
	move_on_with(&field, mine);
}

static bool may_lose(uint64_t now)
{
	return lost_ns < LOST_NS + (now - begin_ns) / LOST_PART;
}

/* A file of the thread in proc(5), of at most `room` - 1 bytes; empty if there is none. */
static void read_of(const struct vcpu *vcpu, const char *name, char *ret, size_t room)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/%s", vcpu->host_tid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd >= 0 ? read(fd, ret, room - 1) : 0;
	if (fd >= 0)
		(void)close(fd);
	ret[count > 0 ? count : 0] = '\0';
}

static bool is_unstarted(const struct vcpu *vcpu)
{
	return __atomic_load_n(&vcpu->mode, __ATOMIC_RELAXED) & VCPU_UNSTARTED;
}

/* Whether the thread would run if it had a core: its state is behind its name, which may have anything in it. */
static bool wants_core(const struct vcpu *vcpu)
{
	char text[128];
	if (is_unstarted(vcpu))
		return true;
	read_of(vcpu, "stat", text, sizeof(text));
	const char *end = strrchr(text, ')');
	return end && strncmp(end, ") R", 3) == 0;
}

/* For how long the thread has had a core; 0: unknown. */
static uint64_t cpu_of(const struct vcpu *vcpu)
{
	char text[64];
	if (is_unstarted(vcpu))
		return 0;
	read_of(vcpu, "schedstat", text, sizeof(text));
	return strtoull(text, NULL, 10);
}

struct wait {
	uint64_t begin, until, next_look;
	uint64_t cpu; /* of the other one, at the first look; 0: none yet, or unknown */
};

/* Who has a core and is in nothing that counts spins, or takes long about something of no interest. */
static bool spins(const struct vcpu *other, struct wait *wait, uint64_t now)
{
	if (now < wait->next_look || counts(other))
		return false;
	wait->next_look = now + SPIN_LOOK_NS;
	uint64_t cpu = cpu_of(other);
	if (wait->cpu == 0)
		wait->cpu = cpu;
	return cpu >= wait->cpu + SPIN_NS;
}

static bool is_in_vain(const struct vcpu *other, struct wait *wait, uint64_t now)
{
	if (now >= wait->until && now - wait->begin < CROWDED_NS && wants_core(other))
		wait->until = now + STUCK_NS;
	return now >= wait->until || spins(other, wait, now);
}

static void relax(void)
{
	for (unsigned i = 0; i < BRIEF_PAUSES; i++)
#if defined(__x86_64__)
		__builtin_ia32_pause();
#else
		atomic_signal_fence(memory_order_seq_cst);
#endif
}

/*
 * Whether it comes to where it is not waited for, as one that has a core does; false once it does not move any more. Each look
 * takes its progress' line from it, so that there are pauses in between.
 */
static bool moves_soon(const struct vcpu *other, uint64_t progress, uint64_t mine)
{
	uint64_t until = kernel_clock_ns(CLOCK_MONOTONIC) + BRIEF_NS;
	while (is_behind(progress + PACE_TURN / 2, mine) && runs(other, progress)) {
		relax();
		uint64_t before = progress;
		progress = progress_of(other);
		uint64_t now = kernel_clock_ns(CLOCK_MONOTONIC);
		if (progress != before)
			until = now + BRIEF_NS;
		else if (now >= until)
			return false;
	}
	return true;
}

/* Until it has moved; or it does not. Where all have a core, sleep would take longer than a turn. */
static void wait_for(const struct vcpu *other, uint64_t progress, uint64_t mine, bool has_core)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	if (has_core && moves_soon(other, progress, mine))
		return;
	uint64_t now = kernel_clock_ns(CLOCK_MONOTONIC);
	struct wait wait = { now, now + STUCK_NS, now + SPIN_LOOK_NS, 0 };
	while (progress_of(other) == progress && runs(other, progress)) {
		(void)nanosleep(&pause, NULL); /* sooner is as well */
		now = kernel_clock_ns(CLOCK_MONOTONIC);
		if (!is_in_vain(other, &wait, now))
			continue;
		paces[other->index].stuck_at = progress;
		lost_ns += now - wait.begin;
		break;
	}
}

uint64_t pace_look(const struct vcpu *vcpu)
{
	if (!is_on)
		return UINT64_MAX;
	struct pace *pace = &paces[vcpu->index];
	uint64_t mine = progress_of(vcpu);
	if (is_behind(mine, pace->next_look))
		return pace->next_look - mine;
	struct field field = look_around(vcpu, mine);
	while (field.last && is_far_behind(field.progress, mine) &&
		may_lose(kernel_clock_ns(CLOCK_MONOTONIC))) {
		wait_for(field.last, field.progress, mine, field.count < cores);
		field = look_around(vcpu, mine);
	}
	move_on_with(&field, mine);
	pace->next_look = mine + PACE_TURN / 2;
	unpaced += field.is_torn ? PACE_TURN / 2 : 0;
	return PACE_TURN / 2;
}

uint64_t pace_unpaced(void)
{
	return unpaced;
}

void pace_forked(void)
{
	is_on = false;
}
