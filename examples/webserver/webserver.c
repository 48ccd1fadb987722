/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A web server like the one that A. Tarvo and S. Reiss model in "Using Computer Simulation to Predict
 * the Performance of Multithreaded Programs" (ICPE 2012), section 6.2: main accepts connections and
 * puts them into a queue; workers take them, look the page up, open it, read it in chunks from the
 * disk, send them and close. Every connection and every open page takes a descriptor; when none is
 * left, pages cannot be opened (500), and connections wait to be accepted.
 */
#include "examples/common/options.h"
#include "examples/common/queue.h"
#include "pages.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	WORKERS_MAX = 1024,
	DESCRIPTORS_MAX = 1 << 16,
	BACKLOG = 4096,
	ALIGNMENT = 4096,
	CHUNK_MAX = 1 << 26,
	FULL_PAUSE_US = 1000, /* before accepting again when no descriptor was left */
	RECEIVE_TIMEOUT_S = 10,
};

struct settings {
	const char *directory, *log;
	uint32_t workers, port, descriptors, chunk_bytes;
	uint32_t requests; /* 0: until a signal */
	enum pages_reading reading;
};

struct answer {
	double accepted_s, taken_s, closed_s;
	struct pages_times times;
	int status;
};

struct worker {
	pthread_t thread;
	struct pages pages;
	struct answer *answers;
	size_t count, capacity;
};

/* Reports know it by this name. Items: descriptors of connections. */
static struct queue connections;
static double accepted_s[DESCRIPTORS_MAX]; /* by descriptor */
static volatile sig_atomic_t is_stopping;
static int listener = -1;

static void stop(int signal)
{
	(void)signal;
	is_stopping = 1;
	(void)shutdown(listener, SHUT_RD); /* accept() returns */
}

static void remember(struct worker *worker, const struct answer *answer)
{
	if (worker->count == worker->capacity) {
		worker->capacity = worker->capacity ? 2 * worker->capacity : 1024;
		worker->answers =
			realloc(worker->answers, worker->capacity * sizeof(*worker->answers));
		if (!worker->answers)
			die(1, "webserver: not enough memory");
	}
	worker->answers[worker->count++] = *answer;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint64_t item;
	(void)pthread_setname_np(pthread_self(), "worker"); /* runs as well without */
	while (queue_get(&connections, &item)) {
		int connection = (int)item;
		struct answer answer = { .accepted_s = accepted_s[item], .taken_s = now_s() };
		answer.status = pages_answer(&worker->pages, connection, &answer.times);
		close(connection);
		answer.closed_s = now_s();
		remember(worker, &answer);
	}
	return NULL;
}

static void listen_at(uint32_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int on = 1;
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(listener, BACKLOG) < 0 ||
		getsockname(listener, (struct sockaddr *)&address, &length) < 0)
		die(1, "webserver: cannot listen at port %" PRIu32 ": %s", port, strerror(errno));
	printf("port: %u\n", ntohs(address.sin_port));
	fflush(stdout);
}

/* Accepts until the last request or a signal; returns how often no descriptor was left. */
static uint64_t accept_all(uint64_t requests)
{
	const struct timeval timeout = { .tv_sec = RECEIVE_TIMEOUT_S };
	uint64_t accepted = 0, full = 0;
	while (!is_stopping && (requests == 0 || accepted < requests)) {
		int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (connection < 0 && (errno == EMFILE || errno == ENFILE)) {
			full++;
			(void)usleep(FULL_PAUSE_US);
		}
		if (connection < 0)
			continue;
		accepted++;
		accepted_s[connection] = now_s();
		(void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
		(void)queue_put(&connections, (uint64_t)connection); /* has room for all */
	}
	close(listener);
	return full;
}

static void limit_descriptors(uint32_t count)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		die(1, "webserver: %s", strerror(errno));
	limit.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		die(1, "webserver: cannot limit descriptors: %s", strerror(errno));
}

static void start_workers(struct worker *workers, const struct settings *settings, int directory)
{
	for (uint32_t i = 0; i < settings->workers; i++) {
		struct worker *worker = &workers[i];
		worker->pages = (struct pages){ .directory = directory,
			.reading = settings->reading,
			.chunk_bytes = settings->chunk_bytes,
			.chunk = aligned_alloc(ALIGNMENT,
				(settings->chunk_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT) };
		if (!worker->pages.chunk)
			die(1, "webserver: not enough memory");
		if (pthread_create(&worker->thread, NULL, work, worker) != 0)
			die(1, "webserver: cannot start worker %" PRIu32, i + 1);
	}
}

static void write_log(const char *path, const struct worker *workers, uint32_t count)
{
	FILE *out = fopen(path, "we");
	if (!out)
		die(1, "webserver: cannot write '%s': %s", path, strerror(errno));
	fputs("accepted_s,waited_s,response_s,stat_s,read_s,status\n", out);
	for (uint32_t i = 0; i < count; i++)
		for (size_t j = 0; j < workers[i].count; j++) {
			const struct answer *a = &workers[i].answers[j];
			fprintf(out, "%.6f,%.6f,%.6f,%.6f,%.6f,%d\n", a->accepted_s,
				a->taken_s - a->accepted_s, a->closed_s - a->accepted_s,
				a->times.stat_s, a->times.read_s, a->status);
		}
	if (fclose(out) != 0)
		die(1, "webserver: cannot write '%s': %s", path, strerror(errno));
}

/* Joins the workers; prints what they did. */
static void report(struct worker *workers, uint32_t count, uint64_t full)
{
	uint64_t answers = 0, errors = 0;
	double response_s = 0, first_s = 0, last_s = 0;
	for (uint32_t i = 0; i < count; i++) {
		(void)pthread_join(workers[i].thread, NULL); /* fails only for a thread not ours */
		for (size_t j = 0; j < workers[i].count; j++) {
			const struct answer *a = &workers[i].answers[j];
			first_s = answers == 0 || a->accepted_s < first_s ? a->accepted_s : first_s;
			last_s = a->closed_s > last_s ? a->closed_s : last_s;
			response_s += a->closed_s - a->accepted_s;
			errors += a->status != 200;
			answers++;
		}
	}
	printf("answers: %" PRIu64 "\nerrors: %" PRIu64 "\n", answers, errors);
	if (answers > 0)
		printf("response: %.6f s\nthroughput: %.1f answers/s\n",
			response_s / (double)answers, (double)answers / (last_s - first_s));
	if (full > 0)
		printf("out of descriptors: %" PRIu64 " times\n", full);
}

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: webserver [options] DIRECTORY\n\n"
		"Serves the files of a directory on 127.0.0.1 until SIGINT or SIGTERM.\n\n"
		"  -w, --workers N      threads that answer (default 4)\n"
		"  -p, --port N         0: any free one, which is printed (default 0)\n"
		"  -n, --requests N     ends after so many (default 0: never)\n"
		"  -d, --descriptors N  limit of open connections and files (default 1024)\n"
		"  -c, --chunk BYTES    read and sent at once (default 1024)\n"
		"  -r, --reading HOW    direct: every chunk from the disk; drop: through the\n"
		"                       page cache, which then forgets it; keep (default drop)\n"
		"  -l, --log FILE       times of every answer, as CSV\n");
	exit(out == stdout ? 0 : 2);
}

static enum pages_reading reading_of(const char *text)
{
	static const char *const names[] = {
		[PAGES_DIRECT] = "direct", [PAGES_DROP] = "drop", [PAGES_KEEP] = "keep"
	};
	for (int i = PAGES_DIRECT; i <= PAGES_KEEP; i++)
		if (strcmp(names[i], text) == 0)
			return (enum pages_reading)i;
	die(2, "--reading: '%s' is not direct, drop or keep", text);
}

static struct settings read_settings(int argc, char **argv)
{
	struct settings s = { .workers = 4, .descriptors = 1024, .chunk_bytes = 1024 };
	const char *reading = "drop";
	const struct argument arguments[] = {
		{ "workers", ARGUMENT_COUNT, &s.workers, 1, WORKERS_MAX, 0 },
		{ "port", ARGUMENT_COUNT, &s.port, 0, UINT16_MAX, 0 },
		{ "requests", ARGUMENT_COUNT, &s.requests, 0, UINT32_MAX, 'n' },
		{ "descriptors", ARGUMENT_COUNT, &s.descriptors, 6, DESCRIPTORS_MAX, 0 },
		{ "chunk", ARGUMENT_COUNT, &s.chunk_bytes, 1, CHUNK_MAX, 0 },
		{ "reading", ARGUMENT_TEXT, &reading, 0, 0, 0 },
		{ "log", ARGUMENT_TEXT, &s.log, 0, 0, 0 },
		{ 0 },
	};
	read_arguments(argc, argv, arguments, 1, usage);
	s.reading = reading_of(reading);
	if (s.reading == PAGES_DIRECT && s.chunk_bytes % 512 != 0)
		die(2, "--chunk: direct reading needs a multiple of 512 bytes");
	s.directory = argv[optind];
	return s;
}

int main(int argc, char **argv)
{
	static uint64_t items[DESCRIPTORS_MAX];
	static struct worker workers[WORKERS_MAX];
	struct settings settings = read_settings(argc, argv);
	const struct sigaction action = { .sa_handler = stop };
	int directory = open(settings.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		die(1, "webserver: '%s': %s", settings.directory, strerror(errno));
	limit_descriptors(settings.descriptors);
	queue_init(&connections, items, DESCRIPTORS_MAX);
	start_workers(workers, &settings, directory);
	listen_at(settings.port);
	(void)sigaction(SIGINT, &action, NULL); /* valid arguments */
	(void)sigaction(SIGTERM, &action, NULL);
	uint64_t full = accept_all(settings.requests);
	queue_close(&connections);
	report(workers, settings.workers, full);
	if (settings.log)
		write_log(settings.log, workers, settings.workers);
	for (uint32_t i = 0; i < settings.workers; i++) {
		free(workers[i].answers);
		free(workers[i].pages.chunk);
	}
	return 0;
}
