/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	BUFFER_BYTES = 1 << 20,
	/* Out of the way of programs that close every descriptor they can name, up to here. */
	LEAST_DESCRIPTOR = 900,
};

static struct {
	pthread_mutex_t lock;
	int fd;
	size_t used;
	uint64_t lost;
	char bytes[BUFFER_BYTES];
} out = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void write_all(const char *bytes, size_t size)
{
	while (size && out.fd >= 0) {
		ssize_t wrote = write(out.fd, bytes, size);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			out.fd = -1;
			return;
		}
		bytes += wrote;
		size -= (size_t)wrote;
	}
}

static void drain(void)
{
	write_all(out.bytes, out.used);
	out.used = 0;
}

static void put(const void *bytes, size_t size)
{
	if (out.used + size > sizeof(out.bytes))
		drain();
	if (size > sizeof(out.bytes)) {
		write_all(bytes, size);
		return;
	}
	if (size)
		memcpy(out.bytes + out.used, bytes, size);
	out.used += size;
}

int out_open(const char *path, const char *backend)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	out.fd = fd;
	struct raw_header header = { .magic = RAW_MAGIC, .version = RAW_VERSION };
	(void)snprintf(header.backend, sizeof(header.backend), "%s", backend);
	put(&header, sizeof(header));
	drain();
	return out.fd < 0 ? -EIO : 0;
}

void out_record(enum raw_kind kind, const void *head, size_t head_bytes, const void *body,
	size_t body_bytes)
{
	static const char zeros[8];
	struct raw_record record = { kind, (uint32_t)(head_bytes + body_bytes) };
	(void)pthread_mutex_lock(&out.lock);
	if (out.fd < 0)
		out.lost++;
	put(&record, sizeof(record));
	put(head, head_bytes);
	put(body, body_bytes);
	put(zeros, -record.bytes & 7);
	(void)pthread_mutex_unlock(&out.lock);
}

void out_flush(void)
{
	(void)pthread_mutex_lock(&out.lock);
	drain();
	(void)pthread_mutex_unlock(&out.lock);
}

void out_abandon(void)
{
	(void)pthread_mutex_init(&out.lock, NULL); /* another thread may have had it at the fork */
	out.fd = -1;
	out.used = 0;
}

uint64_t out_lost(void)
{
	return out.lost;
}

void out_count_lost(void)
{
	(void)pthread_mutex_lock(&out.lock);
	out.lost++;
	(void)pthread_mutex_unlock(&out.lock);
}
