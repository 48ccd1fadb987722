/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's output in unnamed files, the beginning of which can be given back. */
#include "collect/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	TRIM_KEEP_BYTES = 1 << 20, /* more than a tail needs; whole pages */
	TRIM_AT_BYTES = 16 << 20,
	TAIL_BYTES = 16 << 10,
	TAIL_LINE_BYTES = 400,
};

static int open_unnamed(struct err *err)
{
	const char *folder = getenv("TMPDIR");
	if (!folder || !*folder)
		folder = "/tmp";
	/* Appending: several processes may share the stream, and programs such as zstd would
	   otherwise seek and leave holes. */
	int fd = open(folder, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* Not every file system has unnamed files. */
	AUTO_FREE char *name = NULL;
	if (asprintf(&name, "%s/corecast-XXXXXX", folder) < 0) {
		name = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	fd = mkostemp(name, O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno,
			"cannot keep the program's output in '%s': %s (set TMPDIR to a folder that "
			"can be written)",
			folder, strerror(errno));
	(void)unlink(name); /* at worst an empty file stays behind */
	return fd;
}

int capture_init(struct capture *capture, enum capture_keep keep_stdout,
	enum capture_keep keep_stderr, struct err *err)
{
	*capture = (struct capture){ { -1, -1 }, { keep_stdout, keep_stderr } };
	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		int fd = capture->keep[i] == CAPTURE_NOTHING
				 ? open("/dev/null", O_WRONLY | O_CLOEXEC)
				 : open_unnamed(err);
		if (fd < 0 && capture->keep[i] == CAPTURE_NOTHING)
			return err_set(err, -errno, "cannot open /dev/null: %s", strerror(errno));
		if (fd < 0)
			return fd;
		capture->fds[i] = fd;
	}
	return 0;
}

void capture_release(struct capture *capture)
{
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		cleanup_fd(&capture->fds[i]);
	*capture = (struct capture){ .fds = { -1, -1 } };
}

double capture_written_bytes(const struct capture *capture, enum capture_stream stream)
{
	struct stat st;
	return fstat(capture->fds[stream], &st) < 0 ? 0 : (double)st.st_size;
}

void capture_trim(const struct capture *capture)
{
	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		struct stat st;
		if (capture->keep[i] != CAPTURE_TAIL || fstat(capture->fds[i], &st) < 0)
			continue;
		/* st_blocks, not st_size: what was given back still counts in the size. */
		if (st.st_blocks * 512 < TRIM_AT_BYTES || st.st_size < TRIM_AT_BYTES)
			continue;
		off_t keep_from = (st.st_size - TRIM_KEEP_BYTES) & ~(off_t)(TRIM_KEEP_BYTES - 1);
		/* Where holes are not supported the file just stays whole. */
		(void)fallocate(
			capture->fds[i], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, keep_from);
	}
}

int capture_reset(const struct capture *capture, struct err *err)
{
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		if (capture->keep[i] != CAPTURE_NOTHING && ftruncate(capture->fds[i], 0) < 0)
			return err_set(err, -errno, "cannot empty the output of the last run: %s",
				strerror(errno));
	return 0;
}

/* The last bytes of the file into buffer; returns how many. */
static size_t read_end(int fd, char *buffer, size_t size)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return 0;
	off_t from = st.st_size > (off_t)size ? st.st_size - (off_t)size : 0;
	ssize_t got = pread(fd, buffer, size, from);
	return got > 0 ? (size_t)got : 0;
}

static void add_line(struct strbuf *out, const char *prefix, const char *line, size_t length)
{
	strbuf_add(out, prefix);
	bool is_cut = length > TAIL_LINE_BYTES;
	if (is_cut)
		length = TAIL_LINE_BYTES;
	for (size_t i = 0; i < length; i++) {
		char c = line[i];
		bool is_control = ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
		strbuf_add_bytes(out, is_control ? "?" : &c, 1);
	}
	strbuf_add(out, is_cut ? "...\n" : "\n");
}

void capture_add_tail(
	const struct capture *capture, unsigned lines, const char *prefix, struct strbuf *out)
{
	AUTO_FREE char *buffer = malloc(TAIL_BYTES);
	if (!buffer)
		return;
	size_t length = read_end(capture->fds[CAPTURE_STDERR], buffer, TAIL_BYTES);
	if (length == 0)
		length = read_end(capture->fds[CAPTURE_STDOUT], buffer, TAIL_BYTES);
	while (length > 0 && buffer[length - 1] == '\n')
		length--;
	size_t start = length;
	while (start > 0 && lines > 0)
		if (buffer[--start] == '\n' && --lines == 0)
			start++;
	while (start < length) {
		const char *line = buffer + start;
		const char *end = memchr(line, '\n', length - start);
		size_t line_length = end ? (size_t)(end - line) : length - start;
		add_line(out, prefix, line, line_length);
		start += line_length + 1;
	}
}
