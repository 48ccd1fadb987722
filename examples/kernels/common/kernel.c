/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "examples/kernels/common/kernel.h"

#include "corecast/probe.h"

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum { SIZE_MOST = 10000 };

struct member {
	const struct kernel *kernel;
	kernel_work *work;
	void *shared;
	int thread;
	pthread_t handle;
};

static void usage(FILE *out, const char *name, const char *summary)
{
	fprintf(out, "Usage: %s [-n THREADS] [-s SIZE]\n\n%s\n", name, summary);
	exit(out == stdout ? 0 : 2);
}

struct kernel kernel_start(int argc, char **argv, const char *summary)
{
	const char *slash = strrchr(argv[0], '/');
	struct kernel kernel = { .name = slash ? slash + 1 : argv[0], .threads = 1, .size = 100 };
	int option;
	while ((option = getopt(argc, argv, "hn:s:")) != -1) {
		if (option == 'h')
			usage(stdout, kernel.name, summary);
		else if (option == 'n')
			kernel.threads = (int)count_of("-n", optarg, 1, KERNEL_THREADS_MAX);
		else if (option == 's')
			kernel.size = number_of("-s", optarg, 0.01, SIZE_MOST);
		else
			usage(stderr, kernel.name, summary);
	}
	if (optind < argc)
		usage(stderr, kernel.name, summary);
	return kernel;
}

size_t kernel_scaled(const struct kernel *kernel, size_t at_100)
{
	size_t scaled = (size_t)((double)at_100 * kernel->size / 100);
	return scaled > 0 ? scaled : 1;
}

size_t kernel_side(const struct kernel *kernel, size_t at_100, int power)
{
	double most = kernel->size / 100, volume = 0;
	size_t side = 0;
	do {
		side++;
		double ratio = (double)(side + 1) / (double)at_100;
		volume = power == 3 ? ratio * ratio * ratio : ratio * ratio;
	} while (volume <= most);
	return side;
}

void *kernel_array(size_t count, size_t item_bytes)
{
	size_t bytes = (count * item_bytes + KERNEL_LINE - 1) / KERNEL_LINE * KERNEL_LINE;
	void *array = aligned_alloc(KERNEL_LINE, bytes);
	if (!array)
		die(1, "no memory for %zu bytes", bytes);
	return memset(array, 0, bytes);
}

void kernel_begin_work(struct kernel *kernel)
{
	kernel->begin_s = now_s();
	corecast_region_begin("roi");
}

void kernel_end_work(struct kernel *kernel)
{
	corecast_region_end("roi");
	kernel->work_s = now_s() - kernel->begin_s;
}

int kernel_finish(const struct kernel *kernel, uint64_t checksum)
{
	printf("checksum: %016" PRIx64 "\nseconds: %.6f\n", checksum, kernel->work_s);
	return 0;
}

static void *member_begin(void *arg)
{
	const struct member *member = (const struct member *)arg;
	member->work(member->kernel, member->thread, member->shared);
	return NULL;
}

static void run(const struct kernel *kernel, kernel_work *work, void *shared, int first)
{
	struct member members[KERNEL_THREADS_MAX] = { 0 };
	for (int i = first; i < kernel->threads; i++) {
		members[i] = (struct member){ kernel, work, shared, i, 0 };
		if (pthread_create(&members[i].handle, NULL, member_begin, &members[i]) != 0)
			die(1, "%s: cannot start thread %d", kernel->name, i);
	}
	for (int i = 0; i < first; i++)
		work(kernel, i, shared);
	for (int i = first; i < kernel->threads; i++)
		(void)pthread_join(members[i].handle, NULL); /* fails only for a thread not ours */
}

void kernel_run_threads(const struct kernel *kernel, kernel_work *work, void *shared)
{
	run(kernel, work, shared, 0);
}

void kernel_run_team(const struct kernel *kernel, kernel_work *work, void *shared)
{
	run(kernel, work, shared, 1);
}

uint64_t kernel_sum_of_lines(const struct kernel *kernel, const uint64_t *lines)
{
	uint64_t sum = 0;
	for (int t = 0; t < kernel->threads; t++)
		sum += lines[(size_t)t * KERNEL_LINE / sizeof(*lines)];
	return sum;
}

uint64_t kernel_hash(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t value = 0;
		memcpy(&value, (const char *)bytes + i, 8);
		hash = kernel_mix(hash, value);
	}
	return hash;
}
