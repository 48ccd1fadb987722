/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memcached_load SOCKET CONNECTIONS REQUESTS [THINK_US]: a bounded load for memcached on a local socket. All
 * connections have one request under way each: one in ten stores a value, the others fetch one.
 * Prints the seconds from the first request to the last answer.
 *
 * With THINK_US connections do not go in step: after each answer one thinks for a time that is drawn
 * (exponential, with this mean) and asks again. Then the mean seconds from asking to the answer are printed, too.
 */
#include "base/number.h"

#include "base/rng.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
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

static int connect_all(const char *path, uint32_t connections, int fds[CONNECTIONS_MAX])
{
	for (uint32_t i = 0; i < connections; i++) {
		fds[i] = connect_to(path); /* closed when the program ends */
		if (fds[i] < 0)
			return fds[i];
	}
	return 0;
}

/* One connection that thinks until `next_s`, or has asked at `asked_s`. */
struct client {
	bool is_waiting;
	double next_s, asked_s;
};

struct thinkers {
	struct client clients[CONNECTIONS_MAX];
	struct pollfd polled[CONNECTIONS_MAX];
	uint32_t count, sent, answered, requests;
	double think_s, response_s;
	struct rng rng;
};

static double draw(struct thinkers *t)
{
	return -t->think_s * log(1 - rng_uniform(&t->rng));
}

/* Those whose time has come ask. Gives the time at which the next one will. */
static int ask(struct thinkers *t, double *ret_next_s)
{
	*ret_next_s = INFINITY;
	for (uint32_t i = 0; i < t->count; i++) {
		struct client *client = &t->clients[i];
		if (client->is_waiting || t->sent == t->requests)
			continue;
		double at_s = now_s();
		if (client->next_s > at_s) {
			*ret_next_s = fmin(*ret_next_s, client->next_s);
			continue;
		}
		client->asked_s = at_s;
		client->is_waiting = true;
		int r = send_request(t->polled[i].fd, t->sent++);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_answers(struct thinkers *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct client *client = &t->clients[i];
		if (!client->is_waiting || !(t->polled[i].revents & POLLIN))
			continue;
		int r = read_answer(t->polled[i].fd);
		if (r < 0)
			return r;
		double at_s = now_s();
		t->response_s += at_s - client->asked_s;
		t->answered++;
		client->is_waiting = false;
		client->next_s = at_s + draw(t);
	}
	return 0;
}

/* Sleeping is late by tens of us, so that it polls when somebody is due sooner. */
static int think(struct thinkers *t)
{
	const double late_s = 100e-6;
	while (t->answered < t->requests) {
		double next_s;
		int r = ask(t, &next_s);
		double left_s = next_s - now_s() - late_s;
		struct timespec sleep = { 0 };
		if (left_s > 0)
			sleep.tv_nsec = (long)(fmin(left_s, 0.5) * 1e9);
		if (r < 0)
			return r;
		if (ppoll(t->polled, t->count, &sleep, NULL) < 0)
			return -errno;
		r = take_answers(t);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_thinking(const char *path, uint32_t connections, uint32_t requests, double think_s)
{
	static struct thinkers t;
	int fds[CONNECTIONS_MAX];
	int r = connect_all(path, connections, fds);
	t.count = connections;
	t.requests = requests;
	t.think_s = think_s;
	rng_init(&t.rng, 1);
	double start_s = now_s();
	for (uint32_t i = 0; r >= 0 && i < connections; i++) {
		t.polled[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
		t.clients[i].next_s = start_s + draw(&t);
	}
	r = r < 0 ? r : think(&t);
	if (r >= 0)
		printf("%.6f %.9f\n", now_s() - start_s, t.response_s / requests);
	return r;
}

static int load(const char *path, uint32_t connections, uint32_t requests)
{
	int fds[CONNECTIONS_MAX];
	int r = connect_all(path, connections, fds);
	double start_s = now_s();
	for (uint32_t sent = 0; r >= 0 && sent < requests; sent += connections) {
		for (uint32_t i = 0; r >= 0 && i < connections; i++)
			r = send_request(fds[i], sent + i);
		for (uint32_t i = 0; r >= 0 && i < connections; i++)
			r = read_answer(fds[i]);
	}
	if (r >= 0)
		printf("%.6f\n", now_s() - start_s);
	return r;
}

int main(int argc, char **argv)
{
	uint32_t connections, requests, think_us = 0;
	if (argc < 4 || argc > 5 || (argc == 5 && number_parse_u32(argv[4], &think_us) < 0) ||
		number_parse_u32(argv[2], &connections) < 0 ||
		number_parse_u32(argv[3], &requests) < 0 || connections == 0 ||
		connections > CONNECTIONS_MAX) {
		fputs("usage: memcached_load SOCKET CONNECTIONS REQUESTS [THINK_US]\n", stderr);
		return 2;
	}
	int r = think_us ? load_thinking(argv[1], connections, requests, think_us * 1e-6)
			 : load(argv[1], connections, requests);
	if (r < 0) {
		fprintf(stderr, "memcached_load: '%s': %s\n", argv[1], strerror(-r));
		return 1;
	}
	return 0;
}
