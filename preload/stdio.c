/* SPDX-License-Identifier: MIT */
/*
 * Streams. The C library reads what is under them by calls of its own, which nobody else sees. Before a function whose wish is not
 * all in the stream's buffer it is known that it will read, and afterwards how much came:
 *
 *	bytes that it returned - those that the buffer had + those that it has now
 *
 * A function that finds all in the buffer costs a look at two pointers; for a line, at the rest of the buffer.
 */
#include "io.h"
#include "live.h"
#include "real.h"
#include "sink.h"
#include "trace.h"

#include <stdio.h>
#include <string.h>

/* Macros of headers, for programs that optimise. */
#undef fread_unlocked
#undef getc
#undef getc_unlocked

static size_t buffered(const FILE *stream)
{
	return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
}

static bool has_delimiter(const FILE *stream, int delimiter, size_t most)
{
	size_t bytes = buffered(stream);
	bytes = bytes < most ? bytes : most;
	return bytes > 0 && memchr(stream->_IO_read_ptr, delimiter, bytes) != NULL;
}

/* -1: nobody wants to know, or there is none under it. */
static int descriptor_of(FILE *stream)
{
	return is_tracing() || is_live() ? fileno_unlocked(stream) : -1;
}

/* `bytes` that were returned; 0: none, at the end or for an error. */
static void tell(FILE *stream, int fd, size_t before, size_t bytes, const void *caller)
{
	ssize_t came = (ssize_t)(bytes + buffered(stream) - before);
	if (is_tracing() && (came > 0 || (came == 0 && feof_unlocked(stream))))
		io_was_read(fd, came, caller);
}

/*
 * `has_all`: what is wanted is in the buffer; `bytes`: how many `answer` stands for. By another name here: headers define some inline.
 */
#define READS(result, name, has_all, bytes, parameters, arguments)                                 \
	EXPORT result stream_##name parameters __asm__(#name);                                     \
	result stream_##name parameters                                                            \
	{                                                                                          \
		int fd;                                                                            \
		if ((has_all) || (fd = descriptor_of(stream)) < 0)                                 \
			return real()->name arguments;                                             \
		const void *caller = CALLER;                                                       \
		size_t before = buffered(stream);                                                  \
		result answer;                                                                     \
		{                                                                                  \
			WAIT_FROM(SINK_IO, (const void *)(intptr_t)fd, caller);                    \
			answer = real()->name arguments;                                           \
		}                                                                                  \
		tell(stream, fd, before, bytes, caller);                                           \
		return answer;                                                                     \
	}

#define LINES(name, parameters, arguments)                                                         \
	READS(char *, name,                                                                        \
		size <= 1 || buffered(stream) >= (size_t)size - 1 ||                               \
			has_delimiter(stream, '\n', (size_t)size - 1),                             \
		answer ? strlen(answer) : 0, parameters, arguments)

#define DELIMITED(name)                                                                            \
	READS(ssize_t, name, has_delimiter(stream, delimiter, SIZE_MAX),                           \
		answer > 0 ? (size_t)answer : 0,                                                   \
		(char **line, size_t *room, int delimiter, FILE *stream),                          \
		(line, room, delimiter, stream))

#define BYTES(name, parameters, arguments)                                                         \
	READS(size_t, name, buffered(stream) >= size * count, answer * size, parameters, arguments)

#define CHARACTERS(name)                                                                           \
	READS(int, name, buffered(stream) > 0, answer != EOF, (FILE * stream), (stream))

LINES(fgets, (char *to, int size, FILE *stream), (to, size, stream))
LINES(fgets_unlocked, (char *to, int size, FILE *stream), (to, size, stream))
LINES(__fgets_chk, (char *to, size_t room, int size, FILE *stream), (to, room, size, stream))
READS(ssize_t, getline, has_delimiter(stream, '\n', SIZE_MAX), answer > 0 ? (size_t)answer : 0,
	(char **line, size_t *room, FILE *stream), (line, room, stream))
DELIMITED(getdelim)
DELIMITED(__getdelim)
BYTES(fread, (void *restrict to, size_t size, size_t count, FILE *restrict stream),
	(to, size, count, stream))
BYTES(fread_unlocked, (void *restrict to, size_t size, size_t count, FILE *restrict stream),
	(to, size, count, stream))
BYTES(__fread_chk,
	(void *restrict to, size_t room, size_t size, size_t count, FILE *restrict stream),
	(to, room, size, count, stream))
CHARACTERS(fgetc)
CHARACTERS(getc)
CHARACTERS(_IO_getc)
CHARACTERS(fgetc_unlocked)
CHARACTERS(getc_unlocked)
CHARACTERS(__uflow) /* what getc_unlocked() is made of where headers optimise */

EXPORT int fclose(FILE *stream)
{
	if (!is_tracing())
		return real()->fclose(stream);
	const void *caller = CALLER;
	int fd = fileno_unlocked(stream);
	struct io_closing closing = io_closes(fd, caller);
	int result = real()->fclose(stream);
	io_closed(fd, closing, caller);
	return result;
}
