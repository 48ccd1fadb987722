/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/printed.h"

#include "collect/periodic.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <termios.h>

enum { LINE_BYTES = 4096, CHUNK_BYTES = 4096, LOOK_MS = 50 };

struct printed {
	struct extractor extractor;
	bool has_extractor, is_over;
	int own_fd, program_fd;
	struct periodic pump;
	pthread_mutex_t mutex;
	char line[LINE_BYTES]; /* so far; what is longer is cut */
	size_t length;
	double sum;
	unsigned count; /* of the numbers since the last look */
	uint64_t lines; /* that have matched, ever */
	bool was_positive; /* ever */
	struct err
		other; /* of the first line where something else was captured; "": there is none */
};

/* A terminal that changes nothing of what is written to it. */
static int open_terminal(struct printed *printed, struct err *err)
{
	char name[64];
	struct termios mode;
	printed->own_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (printed->own_fd < 0 || grantpt(printed->own_fd) < 0 || unlockpt(printed->own_fd) < 0 ||
		ptsname_r(printed->own_fd, name, sizeof name) != 0)
		return err_set(err, -errno, "cannot make a terminal for the program's output: %s",
			strerror(errno));
	printed->program_fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (printed->program_fd < 0 || tcgetattr(printed->program_fd, &mode) < 0)
		return err_set(
			err, -errno, "cannot open the terminal '%s': %s", name, strerror(errno));
	cfmakeraw(&mode);
	if (tcsetattr(printed->program_fd, TCSANOW, &mode) < 0)
		return err_set(
			err, -errno, "cannot set the terminal '%s': %s", name, strerror(errno));
	return 0;
}

int printed_new(
	const char *expression, enum reduction reduction, struct printed **ret, struct err *err)
{
	AUTO(printed) struct printed *printed = calloc(1, sizeof *printed);
	if (!printed)
		return err_set(err, -ENOMEM, "out of memory");
	printed->own_fd = printed->program_fd = -1;
	(void)pthread_mutex_init(&printed->mutex, NULL); /* cannot fail on Linux */
	int code = extractor_init(&printed->extractor, expression, reduction, err);
	printed->has_extractor = code == 0;
	if (code == 0)
		code = open_terminal(printed, err);
	if (code < 0)
		return code;
	*ret = TAKE(printed);
	return 0;
}

int printed_fd(const struct printed *printed)
{
	return printed->program_fd;
}

static void end_line(struct printed *printed)
{
	double value = 0;
	struct err err = { 0 };
	if (printed->length == 0)
		return;
	int found =
		extractor_line(&printed->extractor, printed->line, printed->length, &value, &err);
	printed->length = 0;
	if (found == 0)
		return;
	(void)pthread_mutex_lock(&printed->mutex); /* cannot fail */
	if (found > 0) {
		printed->sum += value;
		printed->count++;
		printed->lines++;
		printed->was_positive |= value > 0;
	} else if (!*printed->other.text) {
		printed->other = err;
	}
	(void)pthread_mutex_unlock(&printed->mutex); /* cannot fail */
}

static void pass_on(const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t written = write(STDOUT_FILENO, bytes, length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return; /* nobody reads it; the numbers count all the same */
		bytes += written;
		length -= (size_t)written;
	}
}

/* False: there is nothing now. */
static bool take_chunk(struct printed *printed)
{
	char bytes[CHUNK_BYTES];
	ssize_t got = read(printed->own_fd, bytes, sizeof bytes);
	printed->is_over = got == 0 || (got < 0 && errno == EIO); /* the program has closed it */
	if (got <= 0)
		return false;
	pass_on(bytes, (size_t)got);
	for (ssize_t i = 0; i < got; i++)
		if (bytes[i] == '\n' || bytes[i] == '\r') /* who overwrites a line has ended it */
			end_line(printed);
		else if (printed->length < LINE_BYTES)
			printed->line[printed->length++] = bytes[i];
	return true;
}

static int step(void *context)
{
	struct printed *printed = context;
	struct pollfd output = { .fd = printed->is_over ? -1 : printed->own_fd, .events = POLLIN };
	(void)poll(&output, 1, LOOK_MS); /* or nothing comes */
	(void)take_chunk(printed); /* or there is nothing */
	return 0;
}

int printed_start(struct printed *printed, struct err *err)
{
	cleanup_fd(&printed->program_fd); /* else its end would never come */
	printed->program_fd = -1;
	return periodic_start(&printed->pump, step, printed, 0, err);
}

int printed_mean(struct printed *printed, double *ret, struct err *err)
{
	(void)pthread_mutex_lock(&printed->mutex); /* cannot fail */
	unsigned count = printed->count;
	double sum = printed->sum;
	struct err other = printed->other;
	printed->count = 0;
	printed->sum = 0;
	(void)pthread_mutex_unlock(&printed->mutex); /* cannot fail */
	if (*other.text)
		return err_set(err, -EINVAL, "%s", other.text);
	if (count == 0)
		return -EAGAIN;
	*ret = sum / count;
	return 0;
}

uint64_t printed_lines(struct printed *printed)
{
	(void)pthread_mutex_lock(&printed->mutex); /* cannot fail */
	uint64_t lines = printed->lines;
	(void)pthread_mutex_unlock(&printed->mutex); /* cannot fail */
	return lines;
}

void printed_end(struct printed *printed)
{
	(void)periodic_stop(&printed->pump); /* its steps do not fail */
	while (printed->own_fd >= 0 && take_chunk(printed))
		continue;
}

const char *printed_nothing(struct printed *printed)
{
	(void)pthread_mutex_lock(&printed->mutex); /* cannot fail */
	const char *text = printed->lines == 0
				   ? "no line of its standard output matches the expression"
			   : !printed->was_positive ? "no number that it printed was above 0"
						    : NULL;
	(void)pthread_mutex_unlock(&printed->mutex); /* cannot fail */
	return text;
}

void printed_free(struct printed *printed)
{
	if (!printed)
		return;
	printed_end(printed);
	cleanup_fd(&printed->own_fd);
	cleanup_fd(&printed->program_fd);
	if (printed->has_extractor)
		extractor_release(&printed->extractor);
	(void)pthread_mutex_destroy(&printed->mutex); /* nobody holds it */
	free(printed);
}
