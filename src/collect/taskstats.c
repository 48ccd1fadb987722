/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A message about an ended thread, as the kernel lays it out (linux/taskstats.h):
 *
 *	nlmsghdr | genlmsghdr | AGGR_PID { PID | STATS (struct taskstats) } | AGGR_TGID { ... }
 *
 * AGGR_TGID sums a process whose last thread ended; we sum threads, so it is skipped.
 */
#include "collect/taskstats.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/readfile.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	REQUEST_BYTES = 512,
	MESSAGE_BYTES = 16 << 10,
	/* About 30,000 ended threads between two drains. */
	RECEIVE_BUFFER_BYTES = 64 << 20,
};

struct request {
	struct nlmsghdr header;
	struct genlmsghdr generic;
	char attributes[REQUEST_BYTES];
};

static int send_request(int fd, uint16_t family, uint8_t command, uint16_t type, const char *text)
{
	struct request request = { .header = { .nlmsg_type = family,
					   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.generic = { .cmd = command, .version = 1 } };
	size_t length = strlen(text) + 1;
	struct nlattr attribute = { .nla_len = (uint16_t)(NLA_HDRLEN + length), .nla_type = type };
	if (NLA_HDRLEN + length > sizeof request.attributes)
		return -EMSGSIZE;
	memcpy(request.attributes, &attribute, sizeof attribute);
	memcpy(request.attributes + NLA_HDRLEN, text, length);
	request.header.nlmsg_len =
		(uint32_t)(NLMSG_LENGTH(GENL_HDRLEN) + NLA_ALIGN(attribute.nla_len));
	ssize_t sent = send(fd, &request, request.header.nlmsg_len, 0);
	return sent < 0 ? -errno : 0;
}

/* The first attribute of that type among `size` bytes; NULL if there is none. */
static const struct nlattr *find_attribute(const char *bytes, size_t size, uint16_t type)
{
	while (size >= NLA_HDRLEN) {
		const struct nlattr *attribute = (const struct nlattr *)bytes;
		if (attribute->nla_len < NLA_HDRLEN || attribute->nla_len > size)
			return NULL;
		if ((attribute->nla_type & NLA_TYPE_MASK) == type)
			return attribute;
		size_t step = NLA_ALIGN(attribute->nla_len);
		if (step >= size)
			return NULL;
		bytes += step;
		size -= step;
	}
	return NULL;
}

static const char *payload(const struct nlattr *attribute, size_t *ret_size)
{
	*ret_size = attribute->nla_len - NLA_HDRLEN;
	return (const char *)attribute + NLA_HDRLEN;
}

/* The attributes of a generic netlink message; NULL if it is shorter than its headers. */
static const char *message_attributes(const void *message, size_t size, size_t *ret_size)
{
	const struct nlmsghdr *header = message;
	if (size < NLMSG_LENGTH(GENL_HDRLEN) || header->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN) ||
		header->nlmsg_len > size)
		return NULL;
	*ret_size = header->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	return (const char *)message + NLMSG_LENGTH(GENL_HDRLEN);
}

/* Waits for the acknowledgement: 0 or the kernel's errno. */
static int receive_ack(int fd)
{
	_Alignas(struct nlmsghdr) char bytes[MESSAGE_BYTES];
	for (;;) {
		ssize_t size = recv(fd, bytes, sizeof bytes, 0);
		if (size < 0 && errno == EINTR)
			continue;
		if (size < (ssize_t)sizeof(struct nlmsghdr))
			return size < 0 ? -errno : -EIO;
		const struct nlmsghdr *header = (const struct nlmsghdr *)bytes;
		if (header->nlmsg_type != NLMSG_ERROR)
			continue;
		const struct nlmsgerr *error = NLMSG_DATA(header);
		return error->error;
	}
}

/* The number of the family TASKSTATS, or a negative errno. */
static int resolve_family(int fd)
{
	int status = send_request(
		fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME);
	if (status < 0)
		return status;
	_Alignas(struct nlmsghdr) char bytes[MESSAGE_BYTES];
	ssize_t size = recv(fd, bytes, sizeof bytes, 0);
	if (size < (ssize_t)sizeof(struct nlmsghdr))
		return size < 0 ? -errno : -EIO;
	const struct nlmsghdr *header = (const struct nlmsghdr *)bytes;
	if (header->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)NLMSG_DATA(header))->error;
	size_t attributes_size;
	const char *attributes = message_attributes(bytes, (size_t)size, &attributes_size);
	const struct nlattr *id =
		attributes ? find_attribute(attributes, attributes_size, CTRL_ATTR_FAMILY_ID)
			   : NULL;
	uint16_t family;
	if (!id || id->nla_len < NLA_HDRLEN + sizeof family)
		return -ENOENT;
	memcpy(&family, (const char *)id + NLA_HDRLEN, sizeof family);
	status = receive_ack(fd);
	return status < 0 ? status : family;
}

static int open_socket(struct taskstats_socket *s)
{
	s->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (s->fd < 0)
		return -errno;
	int bytes = RECEIVE_BUFFER_BYTES;
	if (setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
		return -errno;
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	if (bind(s->fd, (struct sockaddr *)&address, sizeof address) < 0)
		return -errno;
	int family = resolve_family(s->fd);
	if (family < 0)
		return family;
	/* Processors outside of the possible ones are refused. */
	char cpus[256];
	int status = readfile_line("", "/sys/devices/system/cpu/possible", cpus, sizeof cpus);
	if (status < 0)
		return status;
	status = send_request(s->fd, (uint16_t)family, TASKSTATS_CMD_GET,
		TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus);
	return status < 0 ? status : receive_ack(s->fd);
}

int taskstats_open(struct taskstats_socket *socket, struct err *err)
{
	*socket = (struct taskstats_socket){ .fd = -1 };
	int status = open_socket(socket);
	if (status == 0)
		return 0;
	cleanup_fd(&socket->fd);
	socket->fd = -1;
	return err_set(err, status,
		"the kernel's accounting of ended threads (taskstats) is closed to us: %s",
		strerror(-status));
}

void taskstats_release(struct taskstats_socket *socket)
{
	cleanup_fd(&socket->fd);
	free(socket->tasks);
	*socket = (struct taskstats_socket){ .fd = -1 };
}

static bool read_task(const char *stats, size_t size, struct taskstats_task *ret)
{
	uint32_t process, parent;
	/* Older kernels end before ac_tgid. */
	if (size < offsetof(struct taskstats, ac_tgid) + sizeof process)
		return false;
	memcpy(&process, stats + offsetof(struct taskstats, ac_tgid), sizeof process);
	memcpy(&parent, stats + offsetof(struct taskstats, ac_ppid), sizeof parent);
	uint64_t rss_kib;
	memcpy(&rss_kib, stats + offsetof(struct taskstats, hiwater_rss), sizeof rss_kib);
	ret->rss_bytes = rss_kib * 1024;
	memcpy(&ret->wait_ns, stats + offsetof(struct taskstats, cpu_delay_total),
		sizeof ret->wait_ns);
	ret->process = (pid_t)process;
	ret->parent = (pid_t)parent;
	return true;
}

void taskstats_parse(struct taskstats_socket *socket, const void *message, size_t size)
{
	size_t length;
	const char *bytes = message_attributes(message, size, &length);
	const struct nlattr *aggregate =
		bytes ? find_attribute(bytes, length, TASKSTATS_TYPE_AGGR_PID) : NULL;
	if (!aggregate)
		return;
	bytes = payload(aggregate, &length);
	const struct nlattr *stats = find_attribute(bytes, length, TASKSTATS_TYPE_STATS);
	struct taskstats_task task;
	if (!stats)
		return;
	bytes = payload(stats, &length);
	if (!read_task(bytes, length, &task))
		return;
	if (mem_grow(&socket->tasks, &socket->task_capacity, socket->task_count + 1,
		    sizeof *socket->tasks) < 0)
		socket->has_lost = true;
	else
		socket->tasks[socket->task_count++] = task;
}

void taskstats_drain(struct taskstats_socket *socket)
{
	_Alignas(struct nlmsghdr) char bytes[MESSAGE_BYTES];
	for (;;) {
		ssize_t size = recv(socket->fd, bytes, sizeof bytes, MSG_DONTWAIT);
		if (size > 0)
			taskstats_parse(socket, bytes, (size_t)size);
		else if (size < 0 && errno == ENOBUFS)
			socket->has_lost = true;
		else if (size == 0 || errno != EINTR)
			return;
	}
}

void taskstats_clear(struct taskstats_socket *socket)
{
	taskstats_drain(socket);
	socket->task_count = 0;
	socket->has_lost = false;
}

static int by_process(const void *a, const void *b)
{
	const struct taskstats_task *x = a, *y = b;
	return (x->process > y->process) - (x->process < y->process);
}

static const struct taskstats_task *find_process(
	const struct taskstats_socket *socket, pid_t process)
{
	struct taskstats_task key = { .process = process };
	return bsearch(&key, socket->tasks, socket->task_count, sizeof key, by_process);
}

/* Whether the chain of parents of a process that has ended leads to the root or its adopter. */
static bool is_in_tree(
	const struct taskstats_socket *socket, pid_t process, pid_t root, pid_t adopter)
{
	enum { DEPTH_MAX = 1000 }; /* a reused process number could close a circle */
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		if (process == root)
			return true;
		const struct taskstats_task *task = find_process(socket, process);
		if (!task)
			return false;
		if (task->parent == adopter)
			return true;
		process = task->parent;
	}
	return false;
}

int taskstats_sum_tree(
	struct taskstats_socket *socket, pid_t root, pid_t adopter, struct taskstats_sum *ret)
{
	if (socket->has_lost || socket->task_count == 0)
		return -ENODATA;
	qsort(socket->tasks, socket->task_count, sizeof *socket->tasks, by_process);
	double wait_s = 0;
	uint64_t rss_bytes = 0;
	size_t found = 0;
	for (size_t i = 0; i < socket->task_count; i++) {
		const struct taskstats_task *task = &socket->tasks[i];
		if (!is_in_tree(socket, task->process, root, adopter))
			continue;
		found++;
		wait_s += (double)task->wait_ns * 1e-9;
		if (task->rss_bytes > rss_bytes)
			rss_bytes = task->rss_bytes;
	}
	if (found == 0)
		return -ENODATA;
	*ret = (struct taskstats_sum){ wait_s, rss_bytes > 0 ? (double)rss_bytes : NAN };
	return 0;
}
