/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memcached_load SOCKET CONNECTIONS REQUESTS: a bounded load for memcached on a local socket. All
 * connections have one request under way each: one in ten stores a value, the others fetch one.
 * Prints the seconds from the first request to the last answer.
 */
#include "base/number.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 256, KEYS = 1000, VALUE_BYTES = 100, SET_EVERY = 10, TIMEOUT_S = 10 };

static double now_s(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A connected socket, or -errno. */
static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timeval timeout = { .tv_sec = TIMEOUT_S };
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)); /* valid */
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

static int send_request(int fd, uint32_t number)
{
	char text[64 + VALUE_BYTES];
	char value[VALUE_BYTES];
	unsigned key = number * 2654435761U % KEYS;
	int length;
	memset(value, 'v', sizeof(value));
	if (number % SET_EVERY == 0)
		length = snprintf(text, sizeof(text), "set key%u 0 0 %d\r\n%.*s\r\n", key,
			VALUE_BYTES, VALUE_BYTES, value);
	else
		length = snprintf(text, sizeof(text), "get key%u\r\n", key);
	return write(fd, text, (size_t)length) == length ? 0 : -EIO;
}

/* Reads until an answer ends: STORED or END. */
static int read_answer(int fd)
{
	char text[512];
	size_t used = 0;
	while (used < sizeof(text)) {
		ssize_t got = read(fd, text + used, sizeof(text) - used);
		if (got <= 0)
			return got < 0 ? -errno : -ECONNRESET;
		used += (size_t)got;
		bool is_end = used >= 5 && memcmp(text + used - 5, "END\r\n", 5) == 0;
		bool is_stored = used >= 8 && memcmp(text + used - 8, "STORED\r\n", 8) == 0;
		if (is_end || is_stored)
			return 0;
	}
	return -EPROTO;
}

static int load(const char *path, uint32_t connections, uint32_t requests)
{
	int fds[CONNECTIONS_MAX];
	int r = 0;
	for (uint32_t i = 0; i < connections; i++) {
		fds[i] = connect_to(path); /* closed when the program ends */
		if (fds[i] < 0)
			return fds[i];
	}
	for (uint32_t sent = 0; r >= 0 && sent < requests; sent += connections) {
		for (uint32_t i = 0; r >= 0 && i < connections; i++)
			r = send_request(fds[i], sent + i);
		for (uint32_t i = 0; r >= 0 && i < connections; i++)
			r = read_answer(fds[i]);
	}
	return r;
}

int main(int argc, char **argv)
{
	uint32_t connections, requests;
	if (argc != 4 || number_parse_u32(argv[2], &connections) < 0 ||
		number_parse_u32(argv[3], &requests) < 0 || connections == 0 ||
		connections > CONNECTIONS_MAX) {
		fputs("usage: memcached_load SOCKET CONNECTIONS REQUESTS\n", stderr);
		return 2;
	}
	double start_s = now_s();
	int r = load(argv[1], connections, requests);
	if (r < 0) {
		fprintf(stderr, "memcached_load: '%s': %s\n", argv[1], strerror(-r));
		return 1;
	}
	printf("%.6f\n", now_s() - start_s);
	return 0;
}
