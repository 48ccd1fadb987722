/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An open load for a web server on this machine: requests come when they come, however slow the
 * answers are, and a response time counts from the moment at which the request was due. One thread;
 * contents are dropped in the kernel without being copied.
 */
#include "examples/common/options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	OPEN_MAX = 1 << 16,
	EVENTS = 256,
	HEAD_BYTES = 4096,
	PATH_BYTES = 256,
	DISCARD_BYTES = 1 << 26,
	DRAIN_S = 60, /* after the last request */
};

enum { FAILED = 0 }; /* instead of an HTTP status */

struct settings {
	const char *log;
	uint32_t port;
	double rate;
	bool is_constant;
	uint32_t requests, seed;
};

struct pages {
	char (*paths)[PATH_BYTES];
	size_t count;
};

struct answer {
	double due_s, response_s;
	uint64_t bytes;
	int status;
};

struct connection {
	uint32_t request; /* number of its answer */
	uint16_t head_used;
	bool is_sent;
	char head[16]; /* "HTTP/1.0 200" */
};

struct load {
	struct settings settings;
	struct pages pages;
	struct answer *answers;
	struct connection *open; /* by descriptor */
	uint32_t sent, done;
	int epoll, timer;
	double next_s;
	uint64_t random;
};

/* One path a line. */
static struct pages read_pages(const char *path)
{
	struct pages pages = { 0 };
	size_t capacity = 0;
	FILE *in = fopen(path, "re");
	if (!in)
		die(1, "loadgen: '%s': %s", path, strerror(errno));
	char line[PATH_BYTES];
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		if (!*line)
			continue;
		if (pages.count == capacity) {
			capacity = capacity ? 2 * capacity : 1024;
			pages.paths = realloc(pages.paths, capacity * sizeof(*pages.paths));
			if (!pages.paths)
				die(1, "loadgen: not enough memory");
		}
		memcpy(pages.paths[pages.count++], line, sizeof(line));
	}
	fclose(in);
	if (pages.count == 0)
		die(1, "loadgen: '%s' names no page", path);
	return pages;
}

static void finish(struct load *load, int fd, int status)
{
	struct answer *answer = &load->answers[load->open[fd].request];
	answer->response_s = now_s() - answer->due_s;
	answer->status = status;
	close(fd);
	load->done++;
}

/* Opens a connection for the next request. */
static void start_request(struct load *load)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)load->settings.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint32_t number = load->sent++;
	load->answers[number].due_s = load->next_s;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || fd >= OPEN_MAX) {
		if (fd >= 0)
			close(fd);
		load->done++; /* stays FAILED */
		return;
	}
	load->open[fd] = (struct connection){ .request = number };
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT, .data.fd = fd };
	if ((connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 &&
		    errno != EINPROGRESS) ||
		epoll_ctl(load->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		finish(load, fd, FAILED);
}

/* True: sent, or not yet possible. */
static bool send_request(struct load *load, int fd)
{
	char text[PATH_BYTES + 64];
	size_t page = (size_t)(next_uniform(&load->random) * (double)load->pages.count);
	int length =
		snprintf(text, sizeof(text), "GET /%s HTTP/1.0\r\n\r\n", load->pages.paths[page]);
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
	load->open[fd].is_sent = true;
	return send(fd, text, (size_t)length, MSG_NOSIGNAL) == length &&
	       epoll_ctl(load->epoll, EPOLL_CTL_MOD, fd, &event) == 0;
}

static int status_of(const struct connection *connection)
{
	int status = FAILED;
	if (sscanf(connection->head, "HTTP/%*d.%*d %d", &status) != 1)
		return FAILED;
	return status;
}

/* Takes what has come; the answer ends with the connection. */
static void receive(struct load *load, int fd)
{
	struct connection *connection = &load->open[fd];
	struct answer *answer = &load->answers[connection->request];
	for (;;) {
		size_t left = sizeof(connection->head) - 1 - connection->head_used;
		ssize_t got = left > 0 ? recv(fd, connection->head + connection->head_used, left, 0)
				       : recv(fd, NULL, DISCARD_BYTES, MSG_TRUNC);
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			finish(load, fd, got < 0 ? FAILED : status_of(connection));
			return;
		}
		answer->bytes += (uint64_t)got;
		connection->head_used += left > 0 ? (uint16_t)got : 0;
	}
}

static void serve(struct load *load, const struct epoll_event *event)
{
	int fd = event->data.fd;
	if (!load->open[fd].is_sent && (event->events & EPOLLOUT) && !send_request(load, fd))
		finish(load, fd, FAILED);
	else if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		receive(load, fd);
}

/* All requests that are due; sets the timer for the next one. */
static void start_due(struct load *load)
{
	const struct settings *settings = &load->settings;
	while (load->sent < settings->requests && load->next_s <= now_s()) {
		start_request(load);
		double interval = settings->is_constant ? 1 : -log(1 - next_uniform(&load->random));
		load->next_s += interval / settings->rate;
	}
	struct itimerspec at = { 0 };
	if (load->sent < settings->requests) {
		at.it_value.tv_sec = (time_t)load->next_s;
		at.it_value.tv_nsec = (long)((load->next_s - (double)at.it_value.tv_sec) * 1e9);
	}
	(void)timerfd_settime(load->timer, TFD_TIMER_ABSTIME, &at, NULL); /* valid arguments */
}

static void run(struct load *load)
{
	struct epoll_event events[EVENTS];
	double end_s = INFINITY;
	load->next_s = now_s();
	start_due(load);
	while (load->done < load->settings.requests && now_s() < end_s) {
		int count = epoll_wait(load->epoll, events, EVENTS, 100);
		for (int i = 0; i < count; i++)
			if (events[i].data.fd != load->timer)
				serve(load, &events[i]);
		if (load->sent < load->settings.requests) {
			start_due(load);
			end_s = now_s() + DRAIN_S;
		}
	}
}

static int compare_times(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return a < b ? -1 : a > b;
}

static void report(const struct load *load)
{
	uint32_t count = load->sent, errors = 0;
	double *times = calloc(count, sizeof(*times));
	double sum = 0, last_s = 0, bytes = 0;
	if (!times)
		die(1, "loadgen: not enough memory");
	for (uint32_t i = 0; i < count; i++) {
		const struct answer *answer = &load->answers[i];
		errors += answer->status != 200;
		times[i] = answer->response_s;
		sum += answer->response_s;
		bytes += (double)answer->bytes;
		last_s = fmax(last_s, answer->due_s + answer->response_s);
	}
	double took_s = last_s - load->answers[0].due_s;
	qsort(times, count, sizeof(*times), compare_times);
	printf("requests: %" PRIu32 "\nerrors: %" PRIu32 "\nunanswered: %" PRIu32 "\n", count,
		errors, count - load->done);
	printf("response: %.6f s\nresponse99: %.6f s\n", sum / count,
		times[(size_t)(0.99 * count)]);
	printf("throughput: %.1f answers/s\nbytes: %.0f\n", load->done / took_s, bytes);
	free(times);
}

static void write_log(const struct load *load)
{
	FILE *out = fopen(load->settings.log, "we");
	if (!out)
		die(1, "loadgen: cannot write '%s': %s", load->settings.log, strerror(errno));
	fputs("due_s,response_s,status,bytes\n", out);
	for (uint32_t i = 0; i < load->sent; i++)
		fprintf(out, "%.6f,%.6f,%d,%" PRIu64 "\n", load->answers[i].due_s,
			load->answers[i].response_s, load->answers[i].status,
			load->answers[i].bytes);
	if (fclose(out) != 0)
		die(1, "loadgen: cannot write '%s': %s", load->settings.log, strerror(errno));
}

static void usage(FILE *out)
{
	fprintf(out, "Usage: loadgen [options] PORT PAGES\n\n"
		     "Asks the web server at a port of 127.0.0.1 for random pages of a list.\n\n"
		     "  -r, --rate R         requests each second (default 100)\n"
		     "  -a, --arrivals HOW   poisson, or constant (default poisson)\n"
		     "  -n, --requests N     how many (default 1000)\n"
		     "  -s, --seed N         of what is random (default 1)\n"
		     "  -l, --log FILE       every response time, as CSV\n");
	exit(out == stdout ? 0 : 2);
}

static struct settings read_settings(int argc, char **argv)
{
	struct settings s = { .rate = 100, .requests = 1000, .seed = 1 };
	const char *arrivals = "poisson";
	const struct argument arguments[] = {
		{ "rate", ARGUMENT_NUMBER, &s.rate, 0.001, 1e6, 0 },
		{ "arrivals", ARGUMENT_TEXT, &arrivals, 0, 0, 0 },
		{ "requests", ARGUMENT_COUNT, &s.requests, 1, 100000000, 'n' },
		{ "seed", ARGUMENT_COUNT, &s.seed, 0, UINT32_MAX, 0 },
		{ "log", ARGUMENT_TEXT, &s.log, 0, 0, 0 },
		{ 0 },
	};
	read_arguments(argc, argv, arguments, 2, usage);
	s.is_constant = strcmp(arrivals, "constant") == 0;
	if (!s.is_constant && strcmp(arrivals, "poisson") != 0)
		die(2, "--arrivals: '%s' is not poisson or constant", arrivals);
	s.port = count_of("PORT", argv[optind], 1, UINT16_MAX);
	return s;
}

int main(int argc, char **argv)
{
	struct load load = { .settings = read_settings(argc, argv) };
	struct rlimit limit;
	load.pages = read_pages(argv[argc - 1]);
	load.random = load.settings.seed;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* fewer connections, then */
	}
	load.answers = calloc(load.settings.requests, sizeof(*load.answers));
	load.open = calloc(OPEN_MAX, sizeof(*load.open));
	load.epoll = epoll_create1(EPOLL_CLOEXEC);
	load.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.fd = load.timer };
	if (!load.answers || !load.open)
		die(1, "loadgen: not enough memory");
	if (load.epoll < 0 || load.timer < 0 ||
		epoll_ctl(load.epoll, EPOLL_CTL_ADD, load.timer, &event) < 0)
		die(1, "loadgen: %s", strerror(errno));
	run(&load);
	report(&load);
	if (load.settings.log)
		write_log(&load);
	free(load.answers);
	free(load.open);
	free(load.pages.paths);
	return load.done == load.settings.requests ? 0 : 1;
}
