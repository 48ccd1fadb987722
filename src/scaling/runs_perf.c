/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `perf stat -x,` output, one block for each run, each after a line "# threads=N". A record is
 * value,unit,event,... ; perf has already scaled the value of a multiplexed counter.
 */
#include "scaling/runs_formats.h"

#include "base/mem.h"
#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The value of one event in one run. */
struct cell {
	size_t block;
	int event;
	double value;
};

struct block {
	uint32_t threads;
	unsigned line;
	double time_s; /* NAN until its record came */
};

struct perf {
	struct lines *lines;
	struct block *blocks;
	size_t block_count, block_capacity;
	struct cell *cells; /* block by block */
	size_t cell_count, cell_capacity;
	struct names events; /* that are stall categories */
	struct runs *runs;
};

static void perf_release(struct perf *perf)
{
	free(perf->blocks);
	free(perf->cells);
	names_release(&perf->events);
	runs_free(perf->runs);
	*perf = (struct perf){ 0 };
}

/* Generic events that are no stall: what is not listed becomes a category. */
static const char *const not_stalls[] = { "task-clock", "cpu-clock", "user_time", "system_time",
	"context-switches", "cs", "cpu-migrations", "migrations", "page-faults", "faults",
	"minor-faults", "major-faults", "alignment-faults", "emulation-faults", "cycles",
	"cpu-cycles", "ref-cycles", "bus-cycles", "instructions", "branches", "branch-instructions",
	"branch-misses", "cache-references", "cache-misses", "slots", "dummy" };
static const char *const not_stall_prefixes[] = { "topdown-", "L1-", "LLC-", "dTLB-", "iTLB-",
	"branch-load", "node-" };

static bool is_event(const char *event, const char *name)
{
	/* Modifiers follow a colon, as in cycles:u. */
	size_t length = strlen(name);
	return strncmp(event, name, length) == 0 && (event[length] == '\0' || event[length] == ':');
}

static bool is_stall(const char *event)
{
	for (size_t i = 0; i < ARRAY_SIZE(not_stalls); i++)
		if (is_event(event, not_stalls[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(not_stall_prefixes); i++)
		if (strncmp(event, not_stall_prefixes[i], strlen(not_stall_prefixes[i])) == 0)
			return false;
	return true;
}

uint32_t runs_perf_mark(const char *text)
{
	static const char mark[] = "threads=";
	text += strspn(text, " \t");
	if (*text++ != '#')
		return 0;
	text += strspn(text, " \t");
	uint32_t threads;
	if (strncmp(text, mark, sizeof mark - 1) != 0 ||
		runs_parse_threads(text + sizeof mark - 1, &threads) < 0)
		return 0;
	return threads;
}

bool runs_perf_is_line(const char *text, bool follows_mark)
{
	text += strspn(text, " \t");
	if (*text == '<')
		return true;
	if (*text < '0' || *text > '9')
		return false;
	/* Without a mark it is still better to say what is missing than to ask for a header. */
	return follows_mark || strstr(text, ",task-clock") || strstr(text, ",duration_time");
}

static int start_block(struct perf *perf, uint32_t threads, struct err *err)
{
	if (mem_grow(&perf->blocks, &perf->block_capacity, perf->block_count + 1,
		    sizeof *perf->blocks) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	perf->blocks[perf->block_count++] =
		(struct block){ .threads = threads, .line = perf->lines->number, .time_s = NAN };
	return 0;
}

/* Ends the field at its comma and returns what follows. Commas between slashes belong to an event,
   as in cpu/event=0xa2,umask=0x8/. */
static char *end_field(char *field)
{
	bool is_inside = false;
	for (; *field && (is_inside || *field != ','); field++)
		is_inside ^= *field == '/';
	if (*field)
		*field++ = '\0';
	return field;
}

static int set_time(struct perf *perf, double time_s, struct err *err)
{
	struct block *block = &perf->blocks[perf->block_count - 1];
	if (!isnan(block->time_s))
		return lines_fail(perf->lines, err,
			"a second time for the run at line %u: put a line '# threads=N' before "
			"each run",
			block->line);
	if (!isfinite(time_s) || time_s <= 0)
		return lines_fail(perf->lines, err, "the time is not above 0");
	block->time_s = time_s;
	return 0;
}

static int add_stall(struct perf *perf, const char *event, double value, struct err *err)
{
	int index = names_add(&perf->events, event);
	if (index == -E2BIG)
		return lines_fail(perf->lines, err, "more than %d events", (int)NAMES_MAX);
	size_t block = perf->block_count - 1;
	for (size_t i = perf->cell_count; index >= 0 && i-- > 0 && perf->cells[i].block == block;)
		if (perf->cells[i].event == index)
			return lines_fail(perf->lines, err,
				"event '%s' is there twice for the run at line %u: put a line "
				"'# threads=N' before each run",
				text_show(event).text, perf->blocks[block].line);
	if (index < 0 || mem_grow(&perf->cells, &perf->cell_capacity, perf->cell_count + 1,
				 sizeof *perf->cells) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	perf->cells[perf->cell_count++] = (struct cell){ block, index, value };
	return 0;
}

/* value,unit,event,... */
static int read_record(struct perf *perf, struct err *err)
{
	char *value = perf->lines->text + strspn(perf->lines->text, " \t");
	char *unit = end_field(value);
	char *event = end_field(unit);
	(void)end_field(event); /* run time, percentage and metrics are not needed */
	if (*value == '\0' && *event == '\0')
		return 0; /* a metric of the event before */
	bool is_time = is_event(event, "duration_time");
	if (*value == '<') {
		if (is_time)
			return lines_fail(perf->lines, err, "duration_time was not counted");
		return is_stall(event) ? add_stall(perf, event, NAN, err) : 0;
	}
	double number;
	double unused;
	if (*event == '\0' || number_parse_double(event, &unused) == 0 ||
		number_parse_double(value, &number) < 0 || !isfinite(number) || number < 0)
		return lines_fail(perf->lines, err,
			"not value,unit,event as perf stat -x, writes it (without -A, -I and "
			"--per-thread)");
	if (!is_time)
		return is_stall(event) ? add_stall(perf, event, number, err) : 0;
	if (*unit && strcmp(unit, "ns") != 0)
		return lines_fail(
			perf->lines, err, "duration_time in '%s', not in ns", text_show(unit).text);
	return set_time(perf, number * 1e-9, err);
}

static int read_line(struct perf *perf, struct err *err)
{
	char *text = perf->lines->text + strspn(perf->lines->text, " \t");
	uint32_t threads = runs_perf_mark(text);
	if (threads > 0)
		return start_block(perf, threads, err);
	if (*text == '\0' || *text == '#')
		return 0;
	if (perf->block_count == 0)
		return lines_fail(perf->lines, err,
			"it is not known at how many threads this ran: put a line '# threads=N' "
			"before each run");
	char *elapsed = strstr(text, " seconds time elapsed");
	if (!elapsed)
		return read_record(perf, err);
	*elapsed = '\0';
	double time_s;
	if (number_parse_double(text, &time_s) < 0)
		return lines_fail(
			perf->lines, err, "'%s' is not a time in seconds", text_show(text).text);
	return set_time(perf, time_s, err);
}

/* Blocks and cells into rows. */
static int make_runs(struct perf *perf, struct err *err)
{
	const struct names *events = &perf->events;
	perf->runs = runs_new(METRIC_TIME, (const char *const *)events->items, events->count);
	AUTO_FREE double *stalls = calloc(events->count + 1, sizeof *stalls);
	AUTO_FREE uint32_t *seen = calloc(RUNS_THREADS_MAX + 1, sizeof *seen);
	if (!perf->runs || !stalls || !seen)
		return err_set(err, -ENOMEM, "out of memory");
	size_t cell = 0;
	for (size_t i = 0; i < perf->block_count; i++) {
		const struct block *block = &perf->blocks[i];
		if (isnan(block->time_s))
			return err_set(err, -EINVAL,
				"%s:%u: the run has no time: add -e duration_time to perf stat",
				perf->lines->name, block->line);
		for (size_t k = 0; k < events->count; k++)
			stalls[k] = NAN;
		for (; cell < perf->cell_count && perf->cells[cell].block == i; cell++)
			stalls[perf->cells[cell].event] = perf->cells[cell].value;
		struct runs_row row = { .threads = block->threads,
			.repeat = seen[block->threads]++,
			.value = block->time_s,
			.rss_bytes = NAN,
			.stalls = stalls,
			.line = block->line };
		int code = runs_add_row(perf->runs, &row, perf->lines->name, err);
		if (code < 0)
			return code;
	}
	return 0;
}

int runs_perf_read(struct lines *lines, uint32_t threads, const struct runs_read_opts *opts,
	struct runs **ret, struct err *err)
{
	if (opts->metric == METRIC_THROUGHPUT)
		return err_set(err, -EINVAL, "%s: perf stat measures a time, not a throughput",
			lines->name);
	AUTO_RELEASE(perf) struct perf perf = { .lines = lines };
	int code = threads > 0 ? start_block(&perf, threads, err) : 0;
	while (code >= 0 && (code = lines_next(lines, err)) > 0)
		code = read_line(&perf, err);
	if (code < 0)
		return code;
	code = make_runs(&perf, err);
	if (code < 0)
		return code;
	*ret = TAKE(perf.runs);
	return 0;
}
