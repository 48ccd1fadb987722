/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that writes lines into a pipe, in pieces that end anywhere, and one that reads them as a stream, by all functions that do. Prints how many bytes that was. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINES = 3000, PIECE = 700, KINDS = 6, LINE_MAX_BYTES = 64 };

static int ends[2];

static void *write_lines(void *unused)
{
	static char text[LINES * LINE_MAX_BYTES];
	size_t bytes = 0;
	for (int i = 0; i < LINES; i++)
		bytes += (size_t)snprintf(
			text + bytes, LINE_MAX_BYTES, "line %d%*s\n", i, i % 40, "");
	for (size_t done = 0; done < bytes;) {
		size_t left = bytes - done, piece = left < PIECE ? left : PIECE;
		ssize_t wrote = write(ends[1], text + done, piece);
		if (wrote < 0)
			exit(1);
		done += (size_t)wrote;
		(void)nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	(void)close(ends[1]);
	return unused;
}

/* 0: the end. */
static size_t read_some(FILE *in, int kind)
{
	static char *line;
	static size_t room;
	char some[LINE_MAX_BYTES];
	ssize_t length;
	switch (kind) {
	case 0:
		return fgets(some, sizeof some, in) ? strlen(some) : 0;
	case 1:
		length = getline(&line, &room, in);
		break;
	case 2:
		length = getdelim(&line, &room, ' ', in);
		break;
	case 3:
		return fread(some, 1, 50, in);
	case 4:
		return getc(in) != EOF;
	default:
		return getc_unlocked(in) != EOF;
	}
	return length > 0 ? (size_t)length : 0;
}

/* Of the descriptors that the pipe will have, while they are none. */
static void read_too_early(void)
{
	char nothing;
	int next = dup(STDOUT_FILENO);
	(void)close(next);
	for (int i = 0; i < 2; i++)
		if (read(next + i, &nothing, 1) >= 0)
			exit(1);
}

int main(void)
{
	pthread_t thread;
	size_t sum = 0;
	read_too_early();
	if (pipe(ends) != 0 || pthread_create(&thread, NULL, write_lines, NULL) != 0)
		return 1;
	FILE *in = fdopen(ends[0], "r");
	for (size_t got = 1, i = 0; in && got > 0; i++)
		sum += got = read_some(in, (int)(i % KINDS));
	(void)pthread_join(thread, NULL);
	printf("%zu\n", sum);
	return in ? fclose(in) : 1;
}
