/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a folder of measured curves through the same reader that the command uses. */
#include "corpus.h"

#include "base/mem.h"
#include "counters.h"
#include "scaling/runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 64 };

struct columns {
	int id, file, metric, hardware_threads;
};

/* Cuts a line at its tabs; returns the number of fields. */
static int split(char *line, char *fields[FIELDS_MAX])
{
	line[strcspn(line, "\r\n")] = '\0';
	int count = 0;
	char *rest = line;
	while (rest && count < FIELDS_MAX)
		fields[count++] = strsep(&rest, "\t");
	return count;
}

static int find(char *const fields[], int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(fields[i], name) == 0)
			return i;
	return -1;
}

static int read_curve(const char *path, const char *metric, bool with_counters, struct curve **ret,
	struct err *err)
{
	AUTO_FILE FILE *in = fopen(path, "re");
	if (!in)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (with_counters)
		return counters_read_curve(in, path, ret, err);
	struct runs_read_opts opts = { .metric = strcmp(metric, "time") == 0 ? METRIC_TIME
									     : METRIC_THROUGHPUT };
	AUTO(runs) struct runs *runs = NULL;
	int code = runs_read(in, path, &opts, &runs, err);
	return code < 0 ? code : curve_from_runs(runs, ret, err);
}

static int add(struct corpus *corpus, size_t *capacity, const char *folder, char *const fields[],
	const struct columns *at, bool with_counters, struct err *err)
{
	AUTO_FREE char *path = NULL;
	if (asprintf(&path, "%s/%s", folder, fields[at->file]) < 0 ||
		mem_grow(&corpus->curves, capacity, corpus->count + 1, sizeof *corpus->curves) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	struct corpus_curve *c = &corpus->curves[corpus->count];
	int code = read_curve(path, fields[at->metric], with_counters, &c->curve, err);
	if (code < 0)
		return code;
	(void)snprintf(c->id, sizeof c->id, "%s", fields[at->id]); /* a cut id still tells */
	(void)snprintf(c->source, sizeof c->source, "%.*s", (int)strcspn(c->id, "_"), c->id);
	unsigned long hardware = strtoul(fields[at->hardware_threads], NULL, 10);
	while (hardware > 0 && c->curve->point_count > 0 &&
		c->curve->points[c->curve->point_count - 1].threads > hardware)
		free(c->curve->points[--c->curve->point_count].stalls);
	corpus->count++;
	return 0;
}

int corpus_read(const char *folder, bool with_counters, struct corpus **ret, struct err *err)
{
	AUTO_FREE char *path = NULL;
	AUTO(corpus) struct corpus *corpus = calloc(1, sizeof *corpus);
	if (!corpus || asprintf(&path, "%s/INDEX.tsv", folder) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	AUTO_FILE FILE *in = fopen(path, "re");
	if (!in)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));

	AUTO_FREE char *line = NULL;
	size_t line_bytes = 0, capacity = 0;
	char *fields[FIELDS_MAX];
	struct columns at = { -1, -1, -1, -1 };
	int width = 0;
	while (getline(&line, &line_bytes, in) > 0) {
		int count = split(line, fields);
		if (width == 0) {
			width = count;
			at = (struct columns){ find(fields, count, "id"),
				find(fields, count, "file"), find(fields, count, "metric"),
				find(fields, count, "hardware_threads") };
			if (at.id < 0 || at.file < 0 || at.metric < 0 || at.hardware_threads < 0)
				return err_set(err, -EINVAL,
					"%s: needs the columns id, file, "
					"metric and hardware_threads",
					path);
			continue;
		}
		if (count != width)
			return err_set(err, -EINVAL, "%s: a line of %d fields, not %d", path, count,
				width);
		int code = add(corpus, &capacity, folder, fields, &at, with_counters, err);
		if (code < 0)
			return code;
	}
	*ret = TAKE(corpus);
	return 0;
}

void corpus_free(struct corpus *corpus)
{
	if (!corpus)
		return;
	for (size_t i = 0; i < corpus->count; i++)
		curve_free(corpus->curves[i].curve);
	free(corpus->curves);
	free(corpus);
}
