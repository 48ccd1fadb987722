/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A disk whose speed nobody else changes: serves a file's bytes as
 * DIRECTORY/disk (FUSE), as a device would that works on several requests at once, first come first
 * served, each for a drawn time (Erlang). A loop device with direct access over that file is a block
 * device for the kernel, with requests of its own: what reads it past the page cache waits for it.
 *
 *	reader - file system - loop device - DIRECTORY/disk - this process - the file's pages, in memory
 *
 * When a request ends is known as soon as it comes: who is told late takes nothing from the next. It
 * ends when DIRECTORY is unmounted.
 */
#include "examples/common/options.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fuse.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PARALLEL_MAX = 64,
	ERLANG_MAX = 64,
	PENDING_MAX = 1024,
	READ_MAX = 1 << 20,
	BUFFER_BYTES = READ_MAX + (1 << 12), /* the kernel insists on room for a write */
	DISK_NODE = FUSE_ROOT_ID + 1,
	FILE_MODE = S_IFREG | 0400,
	DIRECTORY_MODE = S_IFDIR | 0500,
};

struct settings {
	const char *file, *directory;
	uint32_t parallel, stages, seed;
	double service_s;
};

struct pending {
	double end_s;
	uint64_t unique, offset;
	uint32_t bytes;
};

struct disk {
	struct settings settings;
	int fuse;
	const char *bytes; /* of the file */
	uint64_t size;
	uint64_t random;
	double free_s[PARALLEL_MAX]; /* when each server is idle again */
	struct pending pending[PENDING_MAX]; /* no order */
	size_t pending_count;
	bool has_ended;
	char buffer[BUFFER_BYTES];
};

static void reply(struct disk *disk, uint64_t unique, int error, const void *bytes, size_t count)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + count), .error = -error, .unique = unique
	};
	struct iovec parts[] = { { &head, sizeof(head) }, { (void *)(uintptr_t)bytes, count } };
	/* ENOENT: who asked went away. */
	if (writev(disk->fuse, parts, count > 0 ? 2 : 1) < 0 && errno != ENOENT)
		disk->has_ended = true;
}

static struct fuse_attr attributes_of(const struct disk *disk, uint64_t node)
{
	bool is_disk = node == DISK_NODE;
	return (struct fuse_attr){ .ino = node,
		.size = is_disk ? disk->size : 0,
		.blocks = is_disk ? disk->size / 512 : 0,
		.mode = is_disk ? FILE_MODE : DIRECTORY_MODE,
		.nlink = 1,
		.blksize = 4096 };
}

static double drawn_service_s(struct disk *disk)
{
	double product = 1;
	for (uint32_t i = 0; i < disk->settings.stages; i++)
		product *= 1 - next_uniform(&disk->random);
	return -log(product) * disk->settings.service_s / disk->settings.stages;
}

/* The server that is idle first takes it, when it is, or now. */
static void take(struct disk *disk, uint64_t unique, const struct fuse_read_in *read)
{
	double now = now_s(), *server = disk->free_s;
	if (disk->pending_count == PENDING_MAX || read->offset > disk->size ||
		read->size > READ_MAX) {
		reply(disk, unique, EIO, NULL, 0);
		return;
	}
	for (uint32_t i = 1; i < disk->settings.parallel; i++)
		if (disk->free_s[i] < *server)
			server = &disk->free_s[i];
	*server = (*server > now ? *server : now) + drawn_service_s(disk);
	uint64_t left = disk->size - read->offset;
	disk->pending[disk->pending_count++] = (struct pending){ .end_s = *server,
		.unique = unique,
		.offset = read->offset,
		.bytes = read->size < left ? read->size : (uint32_t)left };
}

static void start(struct disk *disk, uint64_t unique, const struct fuse_init_in *asked)
{
	const struct fuse_init_out answer = { .major = FUSE_KERNEL_VERSION,
		.minor = asked->minor < FUSE_KERNEL_MINOR_VERSION ? asked->minor
								  : FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = asked->max_readahead,
		.flags = FUSE_ASYNC_READ | FUSE_ASYNC_DIO | FUSE_MAX_PAGES,
		.max_background = PENDING_MAX / 2,
		.congestion_threshold = PENDING_MAX / 2,
		.max_write = 4096,
		.max_pages = READ_MAX / 4096 };
	reply(disk, unique, 0, &answer, sizeof(answer));
}

static void look_up(struct disk *disk, uint64_t unique, const char *name)
{
	const struct fuse_entry_out found = { .nodeid = DISK_NODE,
		.entry_valid = UINT32_MAX,
		.attr_valid = UINT32_MAX,
		.attr = attributes_of(disk, DISK_NODE) };
	if (strcmp(name, "disk") == 0)
		reply(disk, unique, 0, &found, sizeof(found));
	else
		reply(disk, unique, ENOENT, NULL, 0);
}

static void answer(struct disk *disk, const struct fuse_in_header *head, const void *request)
{
	const struct fuse_attr_out about = { .attr_valid = UINT32_MAX,
		.attr = attributes_of(disk, head->nodeid) };
	const struct fuse_open_out opened = { .fh = 1, .open_flags = FOPEN_KEEP_CACHE };
	switch (head->opcode) {
	case FUSE_INIT:
		start(disk, head->unique, request);
		break;
	case FUSE_LOOKUP:
		look_up(disk, head->unique, request);
		break;
	case FUSE_GETATTR:
		reply(disk, head->unique, 0, &about, sizeof(about));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(disk, head->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		take(disk, head->unique, request);
		break;
	case FUSE_READDIR: /* nothing to list */
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_FSYNC:
		reply(disk, head->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: /* nobody waits for answers to these */
		break;
	default:
		reply(disk, head->unique, ENOSYS, NULL, 0);
	}
}

static void take_requests(struct disk *disk)
{
	ssize_t got;
	while ((got = read(disk->fuse, disk->buffer, sizeof(disk->buffer))) > 0) {
		const struct fuse_in_header *head = (const void *)disk->buffer;
		answer(disk, head, head + 1);
	}
	if (got == 0 || (errno != EAGAIN && errno != EINTR && errno != ENOENT))
		disk->has_ended = true; /* ENODEV: unmounted */
}

/* Tells of all that are over; returns when the next is, or infinity. */
static double end_requests(struct disk *disk)
{
	double next_s = INFINITY;
	for (size_t i = 0; i < disk->pending_count;) {
		const struct pending done = disk->pending[i];
		if (done.end_s > now_s()) {
			next_s = done.end_s < next_s ? done.end_s : next_s;
			i++;
			continue;
		}
		disk->pending[i] = disk->pending[--disk->pending_count];
		reply(disk, done.unique, 0, disk->bytes + done.offset, done.bytes);
	}
	return next_s;
}

static void serve(struct disk *disk)
{
	while (!disk->has_ended) {
		double next_s = end_requests(disk), wait_s = next_s - now_s();
		wait_s = wait_s > 0 ? wait_s : 0;
		struct timespec wait = { 0 };
		if (next_s < INFINITY)
			wait = (struct timespec){ (time_t)wait_s, (long)(fmod(wait_s, 1) * 1e9) };
		struct pollfd requests = { .fd = disk->fuse, .events = POLLIN };
		if (ppoll(&requests, 1, next_s < INFINITY ? &wait : NULL, NULL) > 0)
			take_requests(disk);
	}
}

/* The file is read now, and its pages stay. */
static void open_file(struct disk *disk)
{
	struct stat about;
	int fd = open(disk->settings.file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &about) < 0)
		die(1, "steady_disk: '%s': %s", disk->settings.file, strerror(errno));
	disk->size = (uint64_t)about.st_size;
	disk->bytes = mmap(NULL, disk->size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (disk->bytes == MAP_FAILED || mlock(disk->bytes, disk->size) < 0)
		die(1, "steady_disk: '%s': %s", disk->settings.file, strerror(errno));
	close(fd);
}

static void mount_directory(struct disk *disk)
{
	char options[128];
	disk->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40500,user_id=%u,group_id=%u",
		disk->fuse, getuid(), getgid()); /* fits */
	if (disk->fuse < 0 || mount("steady_disk", disk->settings.directory, "fuse.steady_disk",
				      MS_NODEV | MS_NOSUID | MS_RDONLY, options) < 0)
		die(1, "steady_disk: cannot mount '%s': %s", disk->settings.directory,
			strerror(errno));
}

static void usage(FILE *out)
{
	fprintf(out, "Usage: steady_disk [options] FILE DIRECTORY\n\n"
		     "Serves FILE as DIRECTORY/disk, at a disk's speed, until it is unmounted.\n\n"
		     "  -p, --parallel N     requests served at once (default 4)\n"
		     "  -t, --time SECONDS   mean of a request's service (default 0.001)\n"
		     "  -k, --stages N       of the Erlang distribution (default 4)\n"
		     "  -s, --seed N         of the draws (default 1)\n");
	exit(out == stdout ? 0 : 2);
}

int main(int argc, char **argv)
{
	static struct disk disk = {
		.settings = { .parallel = 4, .stages = 4, .seed = 1, .service_s = 0.001 }
	};
	struct settings *s = &disk.settings;
	const struct argument arguments[] = {
		{ "parallel", ARGUMENT_COUNT, &s->parallel, 1, PARALLEL_MAX, 0 },
		{ "time", ARGUMENT_NUMBER, &s->service_s, 1e-6, 10, 0 },
		{ "stages", ARGUMENT_COUNT, &s->stages, 1, ERLANG_MAX, 'k' },
		{ "seed", ARGUMENT_COUNT, &s->seed, 0, UINT32_MAX, 0 },
		{ 0 },
	};
	read_arguments(argc, argv, arguments, 2, usage);
	s->file = argv[optind];
	s->directory = argv[optind + 1];
	disk.random = s->seed;
	open_file(&disk);
	mount_directory(&disk);
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* 50 us late otherwise */
	puts("mounted");
	fflush(stdout);
	serve(&disk);
	return 0;
}
