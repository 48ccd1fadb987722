/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/fetch_speed.h"

#include "machine/speed_clock.h"

#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, BEYOND = 4 /* code is so many times as large as the first level */ };

static const double MOST_NS = 0.05e9; /* for the tries of each size */
static const double LEAST_NS = 20000; /* of a try: code is executed again and again for so long */

#if defined(__x86_64__)
/* lea rcx, [rax + rax + 0x12345678]: eight bytes, and none waits for another; ret. */
static const unsigned char instruction[] = { 0x48, 0x8d, 0x8c, 0x00, 0x78, 0x56, 0x34, 0x12 };
static const unsigned char end[] = { 0xc3 };
#elif defined(__aarch64__)
static const unsigned char instruction[] = { 0x02, 0x04, 0x00, 0x91 }; /* add x2, x0, #1 */
static const unsigned char end[] = { 0xc0, 0x03, 0x5f, 0xd6 }; /* ret */
#else
static const unsigned char instruction[] = { 0 }, end[] = { 0 };
#endif

static void fill(unsigned char *code, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += sizeof instruction)
		memcpy(code + at, instruction, sizeof instruction);
	memcpy(code + bytes, end, sizeof end);
	__builtin___clear_cache((char *)code, (char *)code + bytes + sizeof end);
}

static void run(const unsigned char *code)
{
	union {
		const unsigned char *bytes;
		void (*function)(void);
	} as = { code };
	as.function(); /* changes what a function may change */
}

static double line_ns(const unsigned char *code, uint64_t bytes)
{
	double best_ns = 0, all_ns = speed_now_ns();
	while (speed_now_ns() - all_ns < MOST_NS) {
		double began_ns = speed_now_ns(), took_ns = 0;
		unsigned times = 0;
		while (took_ns < LEAST_NS) {
			run(code);
			times++;
			took_ns = speed_now_ns() - began_ns;
		}
		best_ns = speed_least(best_ns, took_ns / times);
	}
	return best_ns * LINE / (double)bytes;
}

/* Code of so many bytes; 0 where none can be made. */
static double code_ns(uint64_t bytes)
{
	size_t size = bytes + LINE;
	if (sizeof instruction < 4 || bytes == 0)
		return 0;
	unsigned char *code =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 0;
	fill(code, bytes);
	double ns = 0;
	if (mprotect(code, size, PROT_READ | PROT_EXEC) == 0)
		ns = line_ns(code, bytes);
	(void)munmap(code, size); /* at worst it stays mapped */
	return ns;
}

struct fetch_speed fetch_speed_measure(
	uint64_t first_bytes, uint64_t second_bytes, uint64_t third_bytes)
{
	struct fetch_speed speed = { .first_ns = code_ns(first_bytes / 2 / LINE * LINE) };
	uint64_t second = BEYOND * first_bytes, third = 2 * second_bytes;
	if (second * 2 <= second_bytes)
		speed.second_ns = code_ns(second);
	if (third * 2 <= third_bytes)
		speed.third_ns = code_ns(third);
	return speed;
}
