/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pool of threads whose size corecast chooses while it works. The work is simulated by its rate: a queue that
 * one lock guards, and a load that changes half way.
 *
 *	cc tuner.c $(pkg-config --cflags --libs corecast) -o tuner && ./tuner
 */
#include <corecast/corecast.h>

#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 32, INTERVALS = 40 };

/* Jobs per second: each takes 10 ms, a share of it under the lock, whose line all threads fight for. */
static double jobs_per_second(unsigned threads, int interval)
{
	double locked = interval < INTERVALS / 2 ? 0.02 : 0.15;
	double n = threads;
	return 100 * n / (1 + locked * (n - 1) + locked / 50 * n * (n - 1));
}

int main(void)
{
	struct corecast_tuner *tuner = NULL;
	struct corecast_tuner_choice choice;
	struct corecast_error error;
	if (corecast_tuner_new(THREADS_MAX, NULL, &tuner, &choice, &error) < 0) {
		fprintf(stderr, "tuner: %s\n", error.text);
		return EXIT_FAILURE;
	}
	unsigned last = 0;
	for (int i = 0; i < INTERVALS; i++) {
		double rate = jobs_per_second(choice.threads, i);
		if (choice.threads != last)
			printf("%2d  %2u threads  %5.0f jobs/s  %s%s\n", i, choice.threads, rate,
				choice.has_restarted ? "the load changed: " : "", choice.why);
		last = choice.threads;
		if (corecast_tuner_measured(tuner, rate, &choice, &error) < 0) {
			fprintf(stderr, "tuner: %s\n", error.text);
			break;
		}
	}
	corecast_tuner_free(tuner);
	return EXIT_SUCCESS;
}
