/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asks the library how many threads a service needs, from its own measurements:
 *
 *	cc forecast.c $(pkg-config --cflags --libs corecast) -o forecast && ./forecast
 */
#include <corecast/corecast.h>

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	/* Requests per second, measured on a laptop. */
	static const struct corecast_measurement runs[] = { { 1, 1180 }, { 2, 2310 }, { 3, 3390 },
		{ 4, 4350 }, { 6, 6010 }, { 8, 7240 } };
	struct corecast_prediction *p = NULL;
	struct corecast_error error;
	if (corecast_forecast(runs, sizeof runs / sizeof *runs, CORECAST_THROUGHPUT, 16, NULL, &p,
		    &error) < 0) {
		fprintf(stderr, "forecast: %s\n", error.text);
		return EXIT_FAILURE;
	}
	for (size_t i = 7; i < p->point_count; i += 4)
		printf("%2u threads: %.0f requests/s (%.0f to %.0f)\n", p->points[i].threads,
			p->points[i].value, p->points[i].low, p->points[i].high);
	for (size_t i = 0; i < p->note_count; i++)
		printf("note: %s\n", p->notes[i]);
	corecast_prediction_free(p);
	return 0;
}
