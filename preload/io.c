/* SPDX-License-Identifier: MIT */
/*
 * Input and output that blocks. Of a call that did not block nothing stays in the
 * trace, unless the recorder asks for all calls on files: how long it blocked is its wall time less
 * its thread's CPU time.
 *
 * A connection is a request: it begins where accept() returns it and ends where it is closed, or shut down for
 * writing (who asked has all of the answer; its server may linger), whichever thread does that. What comes over it are requests, too (TRACE_IMPLICIT): each from data that are
 * read to the next that are written there. Descriptors are a limit that a program may reach: opening one is a PASS,
 * closing it a RELEASE, and finding none left a TRY_FAILED.
 *
 * Pipes, pairs of sockets (each direction) and eventfds of the program are queues (TRACE_QUEUE): what is written a RELEASE with as many
 * bytes, what is read a PASS; of none, that the last writer has closed it, and that a writer does.
 */
#include "io.h"

#include "live.h"
#include "real.h"
#include "sink.h"
#include "trace.h"
#include "traced_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DESCRIPTORS_MAX = 1 << 16, /* higher ones are not followed */
};

/* What threads of a program hand one another things through. */
enum passage {
	PASSAGE_UNKNOWN,
	PASSAGE_NONE,
	PASSAGE_EVENT,
	PASSAGE_PIPE,
	PASSAGE_PIPE_IN, /* its end for writing */
	PASSAGE_PAIR, /* an end of socketpair() */
};

enum blocking {
	BLOCKING_UNKNOWN,
	BLOCKING_NEVER,
	BLOCKING_PERHAPS,
};

/*
 * By descriptor: was it recorded when it was opened; the number of the request that the connection is, and
 * of the one that came over it and has no answer yet; 0: none.
 */
static struct {
	uint32_t connection, request;
	bool is_told;
	uint8_t blocking; /* enum blocking */
	uint8_t passage; /* enum passage */
	uint8_t io; /* enum trace_io, once the passage is known */
	uint64_t number; /* of that */
} descriptors[DESCRIPTORS_MAX];

/* Sockets, pipes, and what is no file at all (eventfd, timerfd, ...) do as they are told by O_NONBLOCK. */
static bool can_be_told(mode_t mode)
{
	return S_ISSOCK(mode) || S_ISFIFO(mode) || (mode & S_IFMT) == 0;
}

static enum blocking find_out(int fd)
{
	struct stat about;
	int kept = errno;
	int flags = fcntl(fd, F_GETFL);
	bool never = flags >= 0 && flags & O_NONBLOCK && fstat(fd, &about) == 0 &&
		     can_be_told(about.st_mode);
	enum blocking blocking = never ? BLOCKING_NEVER : BLOCKING_PERHAPS;
	errno = kept;
	__atomic_store_n(&descriptors[fd].blocking, blocking, __ATOMIC_RELAXED);
	return blocking;
}

static inline bool may_be_passage(int fd)
{
	return __atomic_load_n(&descriptors[fd].passage, __ATOMIC_RELAXED) != PASSAGE_NONE;
}

/*
 * Requests come and go over it, or what threads hand to one another: that is told of calls, too, whose wait is left out,
 * but for those who would do little else.
 */
static inline bool is_told_of(int fd)
{
	return !self.budget.is_silent &&
	       (may_be_passage(fd) ||
		       __atomic_load_n(&descriptors[fd].connection, __ATOMIC_RELAXED));
}

enum { CALLS = 1024 }; /* between two looks at the descriptor in question: two system calls */

/*
 * Whether a call needs no record, of a thread that is over its budget. Threads share descriptors, and the
 * line that one stands in with its neighbours: it is written seldom.
 */
static bool is_left_out(int fd)
{
	if (!self.budget.is_over || fd < 0 || fd >= DESCRIPTORS_MAX || !is_tracing())
		return false;
	enum blocking blocking = __atomic_load_n(&descriptors[fd].blocking, __ATOMIC_RELAXED);
	if (blocking == BLOCKING_UNKNOWN || self.budget.waits % CALLS == 0)
		blocking = find_out(fd);
	if (blocking != BLOCKING_NEVER)
		return false;
	self.budget.waits++;
	return true;
}

/* The same, when that and that nothing is told are certain at a glance: calls nothing, so that the interposer needs no frame. */
static inline bool is_surely_left_out(int fd)
{
	struct budget *budget = &self.budget;
	if (!budget->is_over || (unsigned)fd >= DESCRIPTORS_MAX || budget->waits % CALLS == 0 ||
		__atomic_load_n(&descriptors[fd].blocking, __ATOMIC_RELAXED) != BLOCKING_NEVER ||
		is_told_of(fd))
		return false;
	budget->waits++;
	return true;
}

/* Numbers of requests over connections begin here, those of connections with 1. */
#define OVER (UINT32_C(1) << 31)

static uint32_t connection_count, request_count;

static bool is_connection(int fd)
{
	return fd >= 0 && fd < DESCRIPTORS_MAX &&
	       __atomic_load_n(&descriptors[fd].connection, __ATOMIC_RELAXED);
}

static bool is_eventfd(int fd)
{
	static const char eventfd[] = "anon_inode:[eventfd]";
	char path[32], target[sizeof(eventfd)];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* fits */
	return readlink(path, target, sizeof(target)) == sizeof(eventfd) - 1 &&
	       memcmp(target, eventfd, sizeof(eventfd) - 1) == 0;
}

/*
 * One look for all that is asked of a descriptor: programs that open many files read each but a few times. Of one that is not open
 * nothing is kept: it may be a pipe's next.
 */
static enum passage find_passage(int fd)
{
	struct stat about;
	enum passage passage = PASSAGE_NONE;
	int kept = errno;
	own_calls_begin();
	/* Both ends of a pipe have its inode; all eventfds have the same one. */
	uint64_t number = TRACE_EVENTFD | (uint64_t)fd;
	bool is_known = fstat(fd, &about) == 0;
	if (is_known && S_ISFIFO(about.st_mode)) {
		number = about.st_ino;
		passage = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? PASSAGE_PIPE
								       : PASSAGE_PIPE_IN;
	} else if (is_known && (about.st_mode & S_IFMT) == 0 && is_eventfd(fd)) {
		passage = PASSAGE_EVENT;
	}
	own_calls_end();
	errno = kept;
	if (!is_known)
		return PASSAGE_NONE;
	__atomic_store_n(&descriptors[fd].number, number, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptors[fd].io, trace_io_of(about.st_mode), __ATOMIC_RELAXED);
	__atomic_store_n(&descriptors[fd].passage, passage, __ATOMIC_RELEASE);
	return passage;
}

static enum passage passage_of(int fd)
{
	enum passage passage = __atomic_load_n(&descriptors[fd].passage, __ATOMIC_ACQUIRE);
	return passage == PASSAGE_UNKNOWN ? find_passage(fd) : passage;
}

static enum trace_io io_of(int fd)
{
	if (fd < 0 || fd >= DESCRIPTORS_MAX)
		return TRACE_IO_UNKNOWN;
	(void)passage_of(fd);
	return (enum trace_io)__atomic_load_n(&descriptors[fd].io, __ATOMIC_RELAXED);
}

/* time_ns: since when who waits for it can go on; 0: now. */
static void passed(
	enum trace_kind kind, int fd, ssize_t bytes, uint64_t time_ns, const void *caller)
{
	if (fd < 0 || fd >= DESCRIPTORS_MAX || bytes < 0)
		return;
	enum passage passage = passage_of(fd);
	uint64_t number = __atomic_load_n(&descriptors[fd].number, __ATOMIC_RELAXED);
	if (passage == PASSAGE_PAIR && kind == TRACE_RELEASE)
		number ^= 1; /* what the other end reads */
	if (passage != PASSAGE_NONE && time_ns)
		trace_mark_past(time_ns, kind, TRACE_QUEUE, number, (uint64_t)bytes, caller);
	else if (passage != PASSAGE_NONE)
		trace_mark(kind, TRACE_QUEUE, number, (uint64_t)bytes, caller);
}

/* Data came: of a connection that is the next request, or the rest of one. */
static void was_read(int fd, ssize_t bytes, uint64_t asked_ns, const void *caller)
{
	(void)asked_ns;
	passed(TRACE_PASS, fd, bytes, 0, caller);
	if (bytes <= 0 || !is_connection(fd) ||
		__atomic_load_n(&descriptors[fd].request, __ATOMIC_RELAXED))
		return;
	uint32_t number = OVER | __atomic_add_fetch(&request_count, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptors[fd].request, number, __ATOMIC_RELAXED);
	trace_request(TRACE_REQUEST_BEGIN, fd, number, TRACE_IMPLICIT, caller);
}

/* Who waits for it may go on before the call is over. */
static void was_written(int fd, ssize_t bytes, uint64_t asked_ns, const void *caller)
{
	if (bytes > 0)
		passed(TRACE_RELEASE, fd, bytes, asked_ns, caller);
	if (bytes <= 0 || !is_connection(fd) ||
		!__atomic_load_n(&descriptors[fd].request, __ATOMIC_RELAXED))
		return;
	uint32_t number = __atomic_exchange_n(&descriptors[fd].request, 0, __ATOMIC_RELAXED);
	if (number)
		trace_request(TRACE_REQUEST_END, fd, number, TRACE_IMPLICIT, caller);
}

void io_was_read(int fd, ssize_t bytes, const void *caller)
{
	was_read(fd, bytes, 0, caller);
}

#define LIST(...) __VA_ARGS__

/*
 * Of calls that wait for one descriptor: what they did there. What is left out needs no frame: the rest is a function
 * of its own.
 */
#define TRANSFERS(done, name, io, arguments, ...)                                                  \
	static __attribute__((noinline))                                                           \
	ssize_t name##_and_tell(const void *site, const void *frame, __VA_ARGS__)                  \
	{                                                                                          \
		bool is_no_wait = is_left_out(fd);                                                 \
		if ((is_no_wait && !is_told_of(fd)) || (!is_tracing() && !is_live()))              \
			return real()->name arguments;                                             \
		const void *caller = callers_of(site, frame);                                      \
		ssize_t bytes_done;                                                                \
		uint64_t asked_ns;                                                                 \
		if (is_no_wait) {                                                                  \
			asked_ns = may_be_passage(fd) ? clock_ns() : 0;                            \
			bytes_done = real()->name arguments;                                       \
			done(fd, bytes_done, asked_ns, caller);                                    \
			return bytes_done;                                                         \
		}                                                                                  \
		{                                                                                  \
			enum trace_io kind =                                                       \
				(io) != TRACE_IO_UNKNOWN || !is_tracing() ? (io) : io_of(fd);      \
			WAIT_FROM(SINK_IO, (const void *)(intptr_t)fd, caller);                    \
			if (is_tracing() && kind != TRACE_IO_UNKNOWN)                              \
				trace_wait_tell(&wait_, kind);                                     \
			asked_ns = wait_.start_ns;                                                 \
			bytes_done = real()->name arguments;                                       \
		}                                                                                  \
		if (is_tracing())                                                                  \
			done(fd, bytes_done, asked_ns, caller);                                    \
		return bytes_done;                                                                 \
	}                                                                                          \
	EXPORT ssize_t name(__VA_ARGS__)                                                           \
	{                                                                                          \
		if (is_surely_left_out(fd))                                                        \
			return real_functions.name arguments;                                      \
		return name##_and_tell(                                                            \
			__builtin_return_address(0), __builtin_dwarf_cfa(), LIST arguments);       \
	}

TRANSFERS(was_read, read, TRACE_IO_UNKNOWN, (fd, to, bytes), int fd, void *to, size_t bytes)
TRANSFERS(was_written, write, TRACE_IO_UNKNOWN, (fd, from, bytes), int fd, const void *from,
	size_t bytes)
TRANSFERS(was_read, readv, TRACE_IO_UNKNOWN, (fd, parts, count), int fd, const struct iovec *parts,
	int count)
TRANSFERS(was_written, writev, TRACE_IO_UNKNOWN, (fd, parts, count), int fd,
	const struct iovec *parts, int count)
TRANSFERS(was_written, sendfile, TRACE_IO_UNKNOWN, (fd, from, at, bytes), int fd, int from,
	off_t *at, size_t bytes)
TRANSFERS(was_written, sendfile64, TRACE_IO_UNKNOWN, (fd, from, at, bytes), int fd, int from,
	off64_t *at, size_t bytes)
TRANSFERS(was_read, recv, TRACE_IO_SOCKET, (fd, to, bytes, flags), int fd, void *to, size_t bytes,
	int flags)
TRANSFERS(was_written, send, TRACE_IO_SOCKET, (fd, from, bytes, flags), int fd, const void *from,
	size_t bytes, int flags)
TRANSFERS(was_read, recvfrom, TRACE_IO_SOCKET, (fd, to, bytes, flags, from, length), int fd,
	void *restrict to, size_t bytes, int flags, __SOCKADDR_ARG from, socklen_t *restrict length)
TRANSFERS(was_written, sendto, TRACE_IO_SOCKET, (fd, from, bytes, flags, to, length), int fd,
	const void *from, size_t bytes, int flags, __CONST_SOCKADDR_ARG to, socklen_t length)
TRANSFERS(was_read, recvmsg, TRACE_IO_SOCKET, (fd, message, flags), int fd, struct msghdr *message,
	int flags)
TRANSFERS(was_written, sendmsg, TRACE_IO_SOCKET, (fd, message, flags), int fd,
	const struct msghdr *message, int flags)
/* As compilers call them that check the sizes of buffers. */
TRANSFERS(was_read, __read_chk, TRACE_IO_UNKNOWN, (fd, to, bytes, room), int fd, void *to,
	size_t bytes, size_t room)
TRANSFERS(was_read, __recv_chk, TRACE_IO_SOCKET, (fd, to, bytes, room, flags), int fd, void *to,
	size_t bytes, size_t room, int flags)

/* What is waited for: a descriptor, or -1. What an unknown one is, is looked up when it blocked. */
#define BLOCKS(result, name, io, descriptor, parameters, arguments)                                \
	EXPORT result name parameters                                                              \
	{                                                                                          \
		if (((io) == TRACE_IO_SOCKET && is_left_out(descriptor)) ||                        \
			(!is_tracing() && !is_live()))                                             \
			return real()->name arguments;                                             \
		WAIT((io) == TRACE_IO_POLL ? SINK_POLL : SINK_IO,                                  \
			(const void *)(intptr_t)(descriptor));                                     \
		if (is_tracing() && (io) != TRACE_IO_UNKNOWN)                                      \
			trace_wait_tell(&wait_, io);                                               \
		wait_.is_for_signal = (io) == TRACE_IO_SIGNAL;                                     \
		result answer = real()->name arguments;                                            \
		if ((io) == TRACE_IO_POLL && answer < 0 && errno == EINTR)                         \
			trace_wait_tell(&wait_, TRACE_IO_SIGNAL);                                  \
		return answer;                                                                     \
	}

BLOCKS(int, connect, TRACE_IO_SOCKET, fd, (int fd, __CONST_SOCKADDR_ARG to, socklen_t length),
	(fd, to, length))
BLOCKS(int, poll, TRACE_IO_POLL, -1, (struct pollfd * fds, nfds_t count, int timeout),
	(fds, count, timeout))
BLOCKS(int, ppoll, TRACE_IO_POLL, -1,
	(struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
	(fds, count, timeout, mask))
BLOCKS(int, select, TRACE_IO_POLL, -1,
	(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
		struct timeval *restrict timeout),
	(count, in, out, other, timeout))
BLOCKS(int, pselect, TRACE_IO_POLL, -1,
	(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
		const struct timespec *restrict timeout, const sigset_t *restrict mask),
	(count, in, out, other, timeout, mask))
BLOCKS(int, epoll_wait, TRACE_IO_POLL, fd,
	(int fd, struct epoll_event *events, int count, int timeout), (fd, events, count, timeout))
BLOCKS(int, epoll_pwait, TRACE_IO_POLL, fd,
	(int fd, struct epoll_event *events, int count, int timeout, const sigset_t *mask),
	(fd, events, count, timeout, mask))
BLOCKS(int, fsync, TRACE_IO_FILE, fd, (int fd), (fd))
BLOCKS(int, fdatasync, TRACE_IO_FILE, fd, (int fd), (fd))
BLOCKS(ssize_t, pread, TRACE_IO_FILE, fd, (int fd, void *to, size_t bytes, off_t at),
	(fd, to, bytes, at))
BLOCKS(ssize_t, pread64, TRACE_IO_FILE, fd, (int fd, void *to, size_t bytes, off64_t at),
	(fd, to, bytes, at))
BLOCKS(ssize_t, pwrite, TRACE_IO_FILE, fd, (int fd, const void *from, size_t bytes, off_t at),
	(fd, from, bytes, at))
BLOCKS(ssize_t, pwrite64, TRACE_IO_FILE, fd, (int fd, const void *from, size_t bytes, off64_t at),
	(fd, from, bytes, at))
BLOCKS(ssize_t, preadv, TRACE_IO_FILE, fd, (int fd, const struct iovec *parts, int count, off_t at),
	(fd, parts, count, at))
BLOCKS(ssize_t, preadv64, TRACE_IO_FILE, fd,
	(int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at))
BLOCKS(ssize_t, pwritev, TRACE_IO_FILE, fd,
	(int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
BLOCKS(ssize_t, pwritev64, TRACE_IO_FILE, fd,
	(int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at))
BLOCKS(int, recvmmsg, TRACE_IO_SOCKET, fd,
	(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),
	(fd, messages, count, flags, timeout))
BLOCKS(int, sendmmsg, TRACE_IO_SOCKET, fd,
	(int fd, struct mmsghdr *messages, unsigned count, int flags), (fd, messages, count, flags))
BLOCKS(int, flock, TRACE_IO_FILE, fd, (int fd, int operation), (fd, operation))
BLOCKS(int, lockf, TRACE_IO_FILE, fd, (int fd, int command, off_t bytes), (fd, command, bytes))
BLOCKS(int, lockf64, TRACE_IO_FILE, fd, (int fd, int command, off64_t bytes), (fd, command, bytes))
BLOCKS(int, semop, TRACE_IO_OTHER, -1, (int set, struct sembuf *steps, size_t count),
	(set, steps, count))
BLOCKS(int, semtimedop, TRACE_IO_OTHER, -1,
	(int set, struct sembuf *steps, size_t count, const struct timespec *timeout),
	(set, steps, count, timeout))
BLOCKS(int, msgsnd, TRACE_IO_OTHER, -1, (int queue, const void *message, size_t bytes, int flags),
	(queue, message, bytes, flags))
BLOCKS(ssize_t, msgrcv, TRACE_IO_OTHER, -1,
	(int queue, void *message, size_t bytes, long type, int flags),
	(queue, message, bytes, type, flags))
BLOCKS(pid_t, wait, TRACE_IO_CHILD, -1, (int *status), (status))
BLOCKS(pid_t, waitpid, TRACE_IO_CHILD, -1, (pid_t pid, int *status, int options),
	(pid, status, options))
BLOCKS(pid_t, wait3, TRACE_IO_CHILD, -1, (int *status, int options, struct rusage *usage),
	(status, options, usage))
BLOCKS(pid_t, wait4, TRACE_IO_CHILD, -1,
	(pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage))
BLOCKS(int, waitid, TRACE_IO_CHILD, -1, (idtype_t type, id_t id, siginfo_t *info, int options),
	(type, id, info, options))
BLOCKS(int, pause, TRACE_IO_SIGNAL, -1, (void), ())
BLOCKS(int, sigwait, TRACE_IO_SIGNAL, -1, (const sigset_t *set, int *signal), (set, signal))
BLOCKS(int, sigwaitinfo, TRACE_IO_SIGNAL, -1, (const sigset_t *set, siginfo_t *info), (set, info))
BLOCKS(int, sigtimedwait, TRACE_IO_SIGNAL, -1,
	(const sigset_t *set, siginfo_t *info, const struct timespec *timeout),
	(set, info, timeout))
BLOCKS(int, sigsuspend, TRACE_IO_SIGNAL, -1, (const sigset_t *set), (set))

BLOCKS(int, __poll_chk, TRACE_IO_POLL, -1,
	(struct pollfd * fds, nfds_t count, int timeout, size_t room), (fds, count, timeout, room))

/* It becomes another file. */
static bool forget(int fd, bool is_told)
{
	__atomic_store_n(&descriptors[fd].blocking, BLOCKING_UNKNOWN, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptors[fd].passage, PASSAGE_UNKNOWN, __ATOMIC_RELAXED);
	return __atomic_exchange_n(&descriptors[fd].is_told, is_told, __ATOMIC_RELAXED);
}

/* The kernel takes a descriptor first, whatever else opening a file needs. */
static uint64_t asked_ns(void)
{
	return is_tracing() ? trace_asks() : 0;
}

/* A descriptor was opened, or none was left. */
static int opened(int fd, uint64_t time_ns, const void *caller)
{
	struct rlimit limit;
	int kept = errno;
	if (!is_tracing() || fd >= DESCRIPTORS_MAX || (fd < 0 && errno != EMFILE) ||
		getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return fd;
	if (fd >= 0)
		forget(fd, true);
	trace_mark_past(time_ns, fd >= 0 ? TRACE_PASS : TRACE_TRY_FAILED, TRACE_IO,
		fd >= 0 ? (uint64_t)fd : 0, limit.rlim_cur, caller);
	errno = kept;
	return fd;
}

/* Two sockets do not show that they are each other's: only the call that makes them does. */
static void note_pair(const int ends[2])
{
	struct stat about;
	int kept = errno;
	bool is_known = fstat(ends[0], &about) == 0;
	for (unsigned i = 0; i < 2; i++) {
		if (!is_known || ends[i] >= DESCRIPTORS_MAX)
			continue;
		(void)forget(ends[i], false);
		__atomic_store_n(&descriptors[ends[i]].number,
			TRACE_PAIR | (uint64_t)about.st_ino << 1 | i, __ATOMIC_RELAXED);
		__atomic_store_n(&descriptors[ends[i]].passage, PASSAGE_PAIR, __ATOMIC_RELEASE);
	}
	errno = kept;
}

EXPORT int socketpair(int domain, int type, int protocol, int ends[2])
{
	int result = real()->socketpair(domain, type, protocol, ends);
	if (result == 0 && is_tracing())
		note_pair(ends);
	return result;
}

static int accepted(int fd, const void *caller)
{
	(void)opened(fd, asked_ns(), caller); /* the same descriptor */
	if (fd < 0 || fd >= DESCRIPTORS_MAX)
		return fd;
	uint32_t number = __atomic_add_fetch(&connection_count, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptors[fd].connection, number, __ATOMIC_RELAXED);
	trace_request(TRACE_REQUEST_BEGIN, fd, number, 0, caller);
	return fd;
}

EXPORT int accept(int fd, __SOCKADDR_ARG from, socklen_t *restrict length)
{
	if (!is_tracing())
		return real()->accept(fd, from, length);
	int connection;
	{
		WAIT(SINK_IO, (const void *)(intptr_t)fd);
		trace_wait_tell(&wait_, TRACE_IO_ACCEPT);
		connection = real()->accept(fd, from, length);
	}
	return accepted(connection, CALLER);
}

EXPORT int accept4(int fd, __SOCKADDR_ARG from, socklen_t *restrict length, int flags)
{
	if (!is_tracing())
		return real()->accept4(fd, from, length, flags);
	int connection;
	{
		WAIT(SINK_IO, (const void *)(intptr_t)fd);
		trace_wait_tell(&wait_, TRACE_IO_ACCEPT);
		connection = real()->accept4(fd, from, length, flags);
	}
	return accepted(connection, CALLER);
}

struct io_closing io_closes(int fd, const void *caller)
{
	struct io_closing closing = { 0 };
	if (fd < 0 || fd >= DESCRIPTORS_MAX)
		return closing;
	closing.connection = __atomic_exchange_n(&descriptors[fd].connection, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptors[fd].request, 0, __ATOMIC_RELAXED); /* without an answer */
	enum passage passage = __atomic_load_n(&descriptors[fd].passage, __ATOMIC_RELAXED);
	if (passage == PASSAGE_PIPE_IN || passage == PASSAGE_PAIR)
		passed(TRACE_RELEASE, fd, 0, 0, caller);
	closing.is_told = forget(fd, false);
	return closing;
}

void io_closed(int fd, struct io_closing closing, const void *caller)
{
	if (closing.is_told)
		trace_mark(TRACE_RELEASE, TRACE_IO, (uint64_t)fd, 0, caller);
	if (closing.connection)
		trace_request(TRACE_REQUEST_END, fd, closing.connection, 0, caller);
}

EXPORT int shutdown(int fd, int how)
{
	int result = real()->shutdown(fd, how);
	if (result < 0 || how == SHUT_RD || !is_tracing() || !is_connection(fd))
		return result;
	uint32_t connection = __atomic_exchange_n(&descriptors[fd].connection, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptors[fd].request, 0, __ATOMIC_RELAXED);
	if (connection)
		trace_request(TRACE_REQUEST_END, fd, connection, 0, CALLER);
	return result;
}

EXPORT int close(int fd)
{
	if (!is_tracing())
		return real()->close(fd);
	const void *caller = CALLER;
	struct io_closing closing = io_closes(fd, caller);
	int result = real()->close(fd);
	io_closed(fd, closing, caller);
	return result;
}

/* The mode is there if the file may be made. */
#define OPENS(name, parameters, ...)                                                               \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
		if (__OPEN_NEEDS_MODE(flags)) {                                                    \
			va_list list;                                                              \
			va_start(list, flags);                                                     \
			mode = va_arg(list, mode_t);                                               \
			va_end(list);                                                              \
		}                                                                                  \
		uint64_t time_ns = asked_ns();                                                     \
		return opened(real()->name(__VA_ARGS__, mode), time_ns, CALLER);                   \
	}

#define OPENS_PLAINLY(name, parameters, ...)                                                       \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		uint64_t time_ns = asked_ns();                                                     \
		return opened(real()->name(__VA_ARGS__), time_ns, CALLER);                         \
	}

OPENS(open, (const char *path, int flags, ...), path, flags)
OPENS(open64, (const char *path, int flags, ...), path, flags)
OPENS(openat, (int directory, const char *path, int flags, ...), directory, path, flags)
OPENS(openat64, (int directory, const char *path, int flags, ...), directory, path, flags)
OPENS_PLAINLY(__open_2, (const char *path, int flags), path, flags)
OPENS_PLAINLY(__open64_2, (const char *path, int flags), path, flags)
OPENS_PLAINLY(__openat_2, (int directory, const char *path, int flags), directory, path, flags)
OPENS_PLAINLY(__openat64_2, (int directory, const char *path, int flags), directory, path, flags)
OPENS_PLAINLY(creat, (const char *path, mode_t mode), path, mode)
OPENS_PLAINLY(creat64, (const char *path, mode_t mode), path, mode)
