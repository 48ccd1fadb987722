/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/bpf_watch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bpf/watch.skel.h"
#include "machine/bpf_check.h"
#include "record/run_clock.h"
#include "record/start_routine.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

struct bpf_watch {
	struct watch_bpf *programs;
	uint32_t *tids; /* of records that are being read */
	size_t tids_capacity;
	struct ring_buffer *events; /* NULL: none wanted */
	int (*take)(void *context, const struct watch_event *event);
	void *take_context;
};

static int take_event(void *context, void *data, size_t size)
{
	struct bpf_watch *watch = context;
	(void)size; /* one kind of record only */
	return watch->take(watch->take_context, data);
}

static int ignore_messages(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

/* The kernel wants a power of two of whole pages. */
static uint32_t ring_bytes(size_t wanted)
{
	uint32_t bytes = 4096;
	while (bytes < wanted && bytes < 1u << 30)
		bytes *= 2;
	return bytes;
}

/* What is attached to the kernel, and where its link is kept. */
struct hook {
	struct bpf_program *program;
	struct bpf_link **link;
	bool is_of_disk;
};

enum { HOOKS = 9 };

/* In an order that leaves no request with a begin and no end. */
static void list_hooks(struct watch_bpf *bpf, struct hook ret[HOOKS])
{
	const struct hook hooks[HOOKS] = {
		{ bpf->progs.on_switch, &bpf->links.on_switch, false },
		{ bpf->progs.on_waking, &bpf->links.on_waking, false },
		{ bpf->progs.on_wakeup_new, &bpf->links.on_wakeup_new, false },
		{ bpf->progs.on_fork, &bpf->links.on_fork, false },
		{ bpf->progs.on_exit, &bpf->links.on_exit, false },
		{ bpf->progs.on_exec, &bpf->links.on_exec, false },
		{ bpf->progs.on_request_end, &bpf->links.on_request_end, true },
		{ bpf->progs.on_request_start, &bpf->links.on_request_start, true },
		{ bpf->progs.on_request, &bpf->links.on_request, true },
	};
	memcpy(ret, hooks, sizeof hooks);
}

/* What is not loaded need not exist in this kernel. */
static int choose_disk(struct watch_bpf *bpf, bool has_disk, struct err *err)
{
	struct hook hooks[HOOKS];
	list_hooks(bpf, hooks);
	for (size_t i = 0; i < HOOKS; i++)
		if (hooks[i].is_of_disk) /* cannot fail: it is not loaded yet */
			(void)bpf_program__set_autoload(hooks[i].program, has_disk);
	if (has_disk && libbpf_find_vmlinux_btf_id("block_io_start", BPF_TRACE_RAW_TP) < 0)
		return err_set(err, -EOPNOTSUPP,
			"this kernel does not tell of requests to disks (block_io_start came with "
			"Linux 6.5): record without --disk");
	return 0;
}

/* A power of two, at most a quarter of the records: as with WATCH_THREADS_MAX. */
static uint32_t slot_mask(uint32_t threads_max)
{
	uint32_t slots = WATCH_SLOTS;
	while (slots > 1 && threads_max && slots > threads_max / 4)
		slots /= 2;
	return slots - 1;
}

static int load(struct bpf_watch *watch, const struct bpf_watch_opts *opts, struct err *err)
{
	(void)libbpf_set_print(ignore_messages); /* else it writes to stderr by itself */
	watch->programs = watch_bpf__open();
	if (!watch->programs)
		return err_set(err, -errno, "cannot open the BPF programs: %s", strerror(errno));
	watch->programs->rodata->watched_pid = (uint32_t)opts->pid;
	watch->programs->rodata->is_on_cpu = opts->is_on_cpu;
	watch->programs->rodata->has_events = opts->event_bytes > 0;
	watch->programs->rodata->has_queue_clock = run_clock_is_steady();
	watch->programs->rodata->slot_mask = slot_mask(opts->threads_max);
	watch->programs->rodata->routine_offset = opts->event_bytes ? start_routine_offset() : 0;
	int status = choose_disk(watch->programs, opts->has_disk, err);
	if (status < 0)
		return status;
	status = bpf_map__set_max_entries(
		watch->programs->maps.events, ring_bytes(opts->event_bytes));
	if (status == 0 && opts->threads_max)
		status = bpf_map__set_max_entries(watch->programs->maps.threads, opts->threads_max);
	if (status == 0)
		status = watch_bpf__load(watch->programs);
	if (status < 0)
		return err_set(err, status,
			"the kernel refuses the BPF programs: %s (they need Linux 5.18 or later)",
			strerror(-status));
	if (opts->event_bytes == 0)
		return 0;
	watch->events = ring_buffer__new(
		bpf_map__fd(watch->programs->maps.events), take_event, watch, NULL);
	return watch->events ? 0 : err_set(err, -errno, "cannot map events: %s", strerror(errno));
}

/* Runs the iterator over all tasks to its end; it writes nothing. */
static int take_up(struct bpf_link *link)
{
	AUTO_FD int fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return -errno;
	for (;;) {
		char nothing;
		ssize_t got = read(fd, &nothing, 1);
		if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
			return got < 0 ? -errno : 0;
	}
}

/* Everything that follows changes, then the threads that are there. */
static int attach(struct bpf_watch *watch, struct err *err)
{
	struct watch_bpf *programs = watch->programs;
	struct hook hooks[HOOKS];
	list_hooks(programs, hooks);
	for (size_t i = 0; i < HOOKS; i++) {
		if (!bpf_program__autoload(hooks[i].program))
			continue;
		*hooks[i].link = bpf_program__attach(hooks[i].program);
		if (!*hooks[i].link)
			return err_set(err, -errno, "cannot attach to %s: %s",
				bpf_program__section_name(hooks[i].program), strerror(errno));
	}
	programs->links.on_task = bpf_program__attach_iter(programs->progs.on_task, NULL);
	if (!programs->links.on_task)
		return err_set(err, -errno, "cannot read from BPF: %s", strerror(errno));
	/* The scheduler's clock is as old as its last look, which is at a switch. */
	(void)nanosleep(&(struct timespec){ .tv_nsec = 1 }, NULL);
	/* Twice: see on_task(). */
	int status = take_up(programs->links.on_task);
	if (status == 0)
		status = take_up(programs->links.on_task);
	if (status < 0)
		return err_set(err, status, "cannot take up the threads: %s", strerror(-status));
	return 0;
}

int bpf_watch_open(const struct bpf_watch_opts *opts, struct bpf_watch **ret, struct err *err)
{
	int status = bpf_check(err);
	if (status < 0)
		return status;
	if (opts->pid <= 0 || (kill(opts->pid, 0) < 0 && errno == ESRCH))
		return err_set(err, -ESRCH, "no process %d", (int)opts->pid);
	AUTO(bpf_watch) struct bpf_watch *watch = calloc(1, sizeof *watch);
	if (!watch)
		return err_set(err, -ENOMEM, "out of memory");
	status = load(watch, opts, err);
	if (status < 0)
		return status;
	status = attach(watch, err);
	if (status < 0)
		return status;
	*ret = TAKE(watch);
	return 0;
}

void bpf_watch_stop(struct bpf_watch *watch)
{
	watch_bpf__detach(watch->programs);
	if (watch->programs->bss->stopped_ns == 0)
		watch->programs->bss->stopped_ns = clock_now_ns(CLOCK_MONOTONIC);
}

void bpf_watch_free(struct bpf_watch *watch)
{
	if (!watch)
		return;
	ring_buffer__free(watch->events); /* accepts NULL, as those below */
	watch_bpf__destroy(watch->programs);
	free(watch->tids);
	free(watch);
}

void bpf_watch_losses(const struct bpf_watch *watch, uint64_t ret[WATCH_LOSSES])
{
	for (size_t i = 0; i < WATCH_LOSSES; i++)
		ret[i] = __atomic_load_n(&watch->programs->bss->losses[i], __ATOMIC_RELAXED);
}

/* Of all records that there are now; how many, or a negative errno. */
static ssize_t list_records(struct bpf_watch *watch)
{
	int fd = bpf_map__fd(watch->programs->maps.threads);
	size_t count = 0;
	for (;; count++) {
		if (mem_grow(&watch->tids, &watch->tids_capacity, count + 1, sizeof *watch->tids) <
			0)
			return -ENOMEM;
		const uint32_t *before = count ? &watch->tids[count - 1] : NULL;
		if (bpf_map_get_next_key(fd, before, &watch->tids[count]) < 0)
			return errno == ENOENT ? (ssize_t)count : -errno;
	}
}

/* Reads those of `count` threads, WATCH_READING at most, into *snapshot, which has room. */
static int read_records(struct bpf_watch *watch, const uint32_t *tids, size_t count, bool is_first,
	struct bpf_snapshot *snapshot)
{
	struct watch_reading *reading = &watch->programs->bss->reading;
	reading->count = (uint32_t)count;
	reading->is_first = is_first;
	for (size_t i = 0; i < count; i++)
		reading->records[i].tid = tids[i];
	struct bpf_test_run_opts opts;
	memset(&opts, 0, sizeof opts); /* padding too: libbpf looks at it */
	opts.sz = sizeof opts;
	if (bpf_prog_test_run_opts(bpf_program__fd(watch->programs->progs.on_read), &opts) < 0)
		return -errno;
	memcpy(snapshot->threads + snapshot->count, reading->records,
		reading->count * sizeof reading->records[0]);
	snapshot->count += reading->count;
	return 0;
}

static int read_all(struct bpf_watch *watch, struct bpf_snapshot *snapshot)
{
	ssize_t count = list_records(watch);
	if (count < 0)
		return (int)count;
	if (mem_grow(&snapshot->threads, &snapshot->capacity, (size_t)count,
		    sizeof snapshot->threads[0]) < 0)
		return -ENOMEM;
	int status = 0;
	size_t done = 0;
	do { /* once also without a record: the account goes on */
		size_t left = (size_t)count - done;
		size_t now = left < WATCH_READING ? left : WATCH_READING;
		status = read_records(watch, watch->tids + done, now, done == 0, snapshot);
		done += now;
	} while (status == 0 && done < (size_t)count);
	return status;
}

/* As it is between two changes. */
static struct watch_total total_now(const struct bpf_watch *watch)
{
	const struct watch_account *account = &watch->programs->bss->account;
	for (;;) {
		uint32_t before = __atomic_load_n(&account->changes, __ATOMIC_ACQUIRE);
		struct watch_total total;
		memcpy(&total, &account->total, sizeof total);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (before % 2 == 0 &&
			__atomic_load_n(&account->changes, __ATOMIC_RELAXED) == before)
			return total;
	}
}

int bpf_watch_read(struct bpf_watch *watch, struct bpf_snapshot *snapshot, struct err *err)
{
	snapshot->count = 0;
	int status = read_all(watch, snapshot);
	if (status < 0)
		return err_set(err, status, "cannot read the account: %s", strerror(-status));
	snapshot->total = total_now(watch);
	bpf_watch_losses(watch, snapshot->losses);
	return 0;
}

/* As its record says, wherever that is. */
static bool is_active(const struct bpf_watch *watch, uint32_t tid)
{
	const struct watch_thread *slot =
		&watch->programs->bss->slots[tid & watch->programs->rodata->slot_mask];
	if (__atomic_load_n(&slot->tid, __ATOMIC_RELAXED) == tid)
		return __atomic_load_n(&slot->is_active, __ATOMIC_RELAXED);
	struct watch_thread thread;
	return bpf_map_lookup_elem(bpf_map__fd(watch->programs->maps.threads), &tid, &thread) ==
		       0 &&
	       thread.is_active;
}

int bpf_watch_glance(
	const struct bpf_watch *watch, uint32_t tid, struct bpf_glance *ret, struct err *err)
{
	(void)err; /* it is there for builds without BPF */
	struct watch_total total = total_now(watch);
	*ret = (struct bpf_glance){
		.active = total.active,
		.only = total.active == 1 ? (uint32_t)total.active_tids : 0,
		.is_active = tid && is_active(watch, tid),
	};
	return 0;
}

int bpf_watch_drain(struct bpf_watch *watch,
	int (*take)(void *context, const struct watch_event *event), void *context)
{
	if (!watch->events)
		return 0;
	watch->take = take;
	watch->take_context = context;
	int status = ring_buffer__consume(watch->events);
	return status < 0 ? status : 0;
}
