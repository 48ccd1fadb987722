/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server whose calls never wait, with one client: unblocked REQUESTS. For each request the server asks its connection many
 * times, computes for 100 us, adds one to an eventfd, and answers.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in address = { .sin_family = AF_INET };
static long requests;

/* NULL: all is well. */
/* NULL: all is well. */
static void *ask(void *context)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte = 0;
	(void)context;
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
		return &address;
	for (long i = 0; i < requests; i++)
		if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
			return &address;
	(void)close(fd);
	return NULL;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* there is one */
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const char *serve(int fd, int count)
{
	enum { LOOKS = 300, WORK_NS = 100000 };
	uint64_t one = 1;
	for (long i = 0; i < requests; i++) {
		char byte;
		for (int look = 0; look < LOOKS; look++)
			(void)recv(fd, &byte, 1, MSG_PEEK);
		for (uint64_t begin_ns = cpu_ns(); cpu_ns() < begin_ns + WORK_NS;)
			continue;
		while (read(fd, &byte, 1) != 1)
			(void)sched_yield();
		if (write(count, &one, sizeof one) != sizeof one || write(fd, &byte, 1) != 1)
			return "answer";
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t client;
	void *failed = NULL;
	socklen_t length = sizeof address;
	int count = eventfd(0, EFD_NONBLOCK), port = socket(AF_INET, SOCK_STREAM, 0);
	requests = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (count < 0 || port < 0 || bind(port, (struct sockaddr *)&address, sizeof address) < 0 ||
		listen(port, 1) < 0 ||
		getsockname(port, (struct sockaddr *)&address, &length) < 0 ||
		pthread_create(&client, NULL, ask, NULL) != 0) {
		perror("unblocked");
		return 1;
	}
	int fd = accept(port, NULL, NULL);
	const char *wrong =
		fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? "accept" : serve(fd, count);
	(void)pthread_join(client, &failed); /* it ends by itself */
	if (wrong || failed)
		(void)fprintf(stderr, "unblocked: cannot %s\n", wrong ? wrong : "ask");
	return wrong || failed;
}
