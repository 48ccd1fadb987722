/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether requests come from clients that wait for their answers, or from whoever likes, at some rate, told from when they began and ended.
 *
 * Of N clients that think for z, while n of their requests are served the next comes at a rate of (N - n) / z, and none while all N
 * wait; from whoever likes it comes at the same rate however many are served. Both may be more regular, or burstier, than by chance. Who has an answer
 * may ask again before its server has told of it: so N may be less than the most that were served at once. The source is the clients
 * that make what was seen likeliest, if that is a thousand times as likely as by a rate, and
 * clearly so for each request.
 */
#ifndef BUILDER_CLIENTS_H
#define BUILDER_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When a request began or ended. */
struct build_moment {
	uint64_t number, time_ns;
	uint32_t descriptor;
	uint32_t thread;
	bool is_end;
};

/* The moments in order of time. 0: no clients that wait; -ENOMEM. */
int64_t build_clients_count(const struct build_moment *moments, size_t count);

/*
 * What so many clients thought between an answer and the next request, who waits longest asking first: at most as many times as there are moments.
 * Returns how many times.
 */
size_t build_clients_think(
	const struct build_moment *moments, size_t count, uint32_t clients, double *thinking_s);

#endif
