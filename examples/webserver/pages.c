/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pages.h"

#include "examples/common/arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REQUEST_BYTES = 4096 };

/* The whole head of a request, ended by 0; false: it is too long, or the client went away. */
static bool receive_head(int connection, char head[REQUEST_BYTES])
{
	size_t used = 0;
	for (;;) {
		ssize_t got = recv(connection, head + used, REQUEST_BYTES - 1 - used, 0);
		if (got <= 0)
			return false;
		used += (size_t)got;
		head[used] = 0;
		if (strstr(head, "\r\n\r\n"))
			return true;
		if (used == REQUEST_BYTES - 1)
			return false;
	}
}

/* The path of "GET /path HTTP/1.0", below the served directory; NULL: it is none. */
static const char *path_of(char *head)
{
	if (strncmp(head, "GET /", 5) != 0)
		return NULL;
	char *path = head + 5;
	path[strcspn(path, " ?\r\n")] = 0;
	return *path && *path != '/' && !strstr(path, "..") ? path : NULL;
}

static bool send_all(int connection, const void *bytes, size_t count, bool is_last)
{
	const char *from = bytes;
	while (count > 0) {
		ssize_t sent =
			send(connection, from, count, MSG_NOSIGNAL | (is_last ? 0 : MSG_MORE));
		if (sent <= 0)
			return false;
		from += sent;
		count -= (size_t)sent;
	}
	return true;
}

static int send_error(int connection, int status, const char *reason)
{
	char text[256];
	int length = snprintf(text, sizeof(text),
		"HTTP/1.0 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s\n",
		status, reason, strlen(reason) + 1, reason);
	return send_all(connection, text, (size_t)length, true) ? status : 0;
}

static int send_page(const struct pages *pages, int connection, int fd, off_t bytes, double *read_s)
{
	char head[128];
	int length = snprintf(head, sizeof(head),
		"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: %lld\r\n\r\n",
		(long long)bytes);
	if (!send_all(connection, head, (size_t)length, bytes == 0))
		return 0;
	while (bytes > 0) {
		double start_s = now_s();
		ssize_t got = read(fd, pages->chunk, pages->chunk_bytes);
		*read_s += now_s() - start_s;
		if (got <= 0)
			return 0; /* shorter than promised: the client sees it end early */
		bytes -= got;
		if (!send_all(connection, pages->chunk, (size_t)got, bytes <= 0))
			return 0;
	}
	return 200;
}

int pages_answer(const struct pages *pages, int connection, struct pages_times *ret)
{
	char head[REQUEST_BYTES];
	struct stat about;
	*ret = (struct pages_times){ 0 };
	if (!receive_head(connection, head))
		return 0;
	const char *path = path_of(head);
	if (!path)
		return send_error(connection, 400, "Bad Request");
	double start_s = now_s();
	int status = fstatat(pages->directory, path, &about, 0);
	ret->stat_s = now_s() - start_s;
	if (status < 0 || !S_ISREG(about.st_mode))
		return send_error(connection, 404, "Not Found");
	int fd = openat(pages->directory, path,
		O_RDONLY | O_CLOEXEC | (pages->reading == PAGES_DIRECT ? O_DIRECT : 0));
	if (fd < 0) /* no descriptor is left */
		return send_error(connection, 500, "Internal Server Error");
	status = send_page(pages, connection, fd, about.st_size, &ret->read_s);
	if (pages->reading == PAGES_DROP)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* a hint */
	close(fd);
	return status;
}
