/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages about ended threads: read, and summed over a tree of processes. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "collect/taskstats.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double wait_of(struct taskstats_task *tasks, size_t count, bool has_lost)
{
	struct taskstats_socket socket = {
		.fd = -1, .tasks = tasks, .task_count = count, .has_lost = has_lost
	};
	struct taskstats_sum sum;
	return taskstats_sum_tree(&socket, 100, 50, &sum) == 0 ? sum.wait_s : NAN;
}

static void threads_of_the_whole_tree_are_summed(void **state)
{
	(void)state;
	struct taskstats_task tasks[] = {
		{ 102, 101, 4000000000, 0 }, /* a grandchild, that ended first */
		{ 100, 50, 1000000000, 0 }, /* two threads of the program */
		{ 100, 50, 500000000, 0 }, { 101, 100, 2000000000, 0 },
		{ 103, 50, 8000000000, 0 }, /* an orphan that fell to us */
		{ 200, 1, 16000000000, 0 }, /* somebody else's */
		{ 201, 200, 32000000000, 0 },
		{ 300, 999, 64000000000, 0 }, /* whose parent still lives */
	};
	assert_true(fabs(wait_of(tasks, ARRAY_SIZE(tasks), false) - 15.5) < 1e-9);
}

static void the_largest_process_counts(void **state)
{
	(void)state;
	struct taskstats_task tasks[] = { { 100, 50, 0, 4096 }, { 101, 100, 0, 8192 },
		{ 200, 1, 0, 16384 } };
	struct taskstats_socket socket = { .fd = -1, .tasks = tasks, .task_count = 3 };
	struct taskstats_sum sum;
	assert_int_equal(taskstats_sum_tree(&socket, 100, 50, &sum), 0);
	assert_true(sum.rss_bytes == 8192);
	socket.task_count = 1;
	tasks[0].rss_bytes = 0;
	assert_int_equal(taskstats_sum_tree(&socket, tasks[0].process, 50, &sum), 0);
	assert_true(isnan(sum.rss_bytes));
}

static void without_all_messages_nothing_is_said(void **state)
{
	(void)state;
	struct taskstats_task tasks[] = { { 100, 50, 1000000000, 0 } };
	assert_true(isnan(wait_of(tasks, 1, true)));
	assert_true(isnan(wait_of(tasks, 0, false)));
	tasks[0].process = 7;
	tasks[0].parent = 8;
	assert_true(isnan(wait_of(tasks, 1, false)));
}

static void a_circle_of_reused_numbers_ends(void **state)
{
	(void)state;
	struct taskstats_task tasks[] = { { 7, 8, 1, 0 }, { 8, 7, 1, 0 } };
	assert_true(isnan(wait_of(tasks, 2, false)));
}

static char *add(char *at, uint16_t type, const void *payload, size_t size)
{
	struct nlattr attribute = { (uint16_t)(NLA_HDRLEN + size), type };
	memcpy(at, &attribute, sizeof attribute);
	memcpy(at + NLA_HDRLEN, payload, size);
	return at + NLA_ALIGN(attribute.nla_len);
}

/* A message as the kernel lays it out; returns its size. */
static size_t build_message(char *bytes, size_t room)
{
	memset(bytes, 0, room);
	struct taskstats stats = { .version = 13, .ac_ppid = 50, .ac_tgid = 100 };
	stats.cpu_delay_total = 42;
	stats.hiwater_rss = 3;
	uint32_t pid = 101;
	char inner[1024] = { 0 };
	char *end = add(inner, TASKSTATS_TYPE_PID, &pid, sizeof pid);
	end = add(end, TASKSTATS_TYPE_STATS, &stats, sizeof stats);
	size_t headers = NLMSG_LENGTH(GENL_HDRLEN);
	char *after = add(bytes + headers, TASKSTATS_TYPE_AGGR_PID, inner, (size_t)(end - inner));
	struct nlmsghdr header = { .nlmsg_len = (uint32_t)(after - bytes), .nlmsg_type = 30 };
	memcpy(bytes, &header, sizeof header);
	return header.nlmsg_len;
}

static void a_message_yields_its_task(void **state)
{
	(void)state;
	_Alignas(struct nlmsghdr) char bytes[2048];
	size_t size = build_message(bytes, sizeof bytes);
	struct taskstats_socket socket = { .fd = -1 };
	taskstats_parse(&socket, bytes, size);
	assert_int_equal(socket.task_count, 1);
	assert_int_equal(socket.tasks[0].process, 100);
	assert_int_equal(socket.tasks[0].parent, 50);
	assert_int_equal(socket.tasks[0].wait_ns, 42);
	assert_int_equal(socket.tasks[0].rss_bytes, 3 * 1024);
	taskstats_release(&socket);
}

static void a_cut_message_yields_nothing(void **state)
{
	(void)state;
	_Alignas(struct nlmsghdr) char bytes[2048];
	size_t size = build_message(bytes, sizeof bytes);
	struct taskstats_socket socket = { .fd = -1 };
	for (size_t cut = 0; cut < size; cut++) {
		/* A copy of its own size, so that reading beyond it is found. */
		char *copy = malloc(cut ? cut : 1);
		assert_non_null(copy);
		memcpy(copy, bytes, cut);
		taskstats_parse(&socket, copy, cut);
		if (cut >= sizeof(struct nlmsghdr)) {
			uint32_t claimed = (uint32_t)cut;
			memcpy(copy, &claimed, sizeof claimed);
			taskstats_parse(&socket, copy, cut);
		}
		free(copy);
	}
	assert_int_equal(socket.task_count, 0);
	taskstats_release(&socket);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_the_whole_tree_are_summed),
		cmocka_unit_test(the_largest_process_counts),
		cmocka_unit_test(without_all_messages_nothing_is_said),
		cmocka_unit_test(a_circle_of_reused_numbers_ends),
		cmocka_unit_test(a_message_yields_its_task),
		cmocka_unit_test(a_cut_message_yields_nothing),
	};
	return cmocka_run_group_tests_name("taskstats", tests, NULL, NULL);
}
