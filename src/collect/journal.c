/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RUNS.csv, written so that every prefix of it made of whole lines is a valid file. */
#include "collect/journal.h"

#include "base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char first_mark[] = "# corecast ";
static const char command_mark[] = "# command: ";
static const char settings_mark[] = "# settings: ";
static const char machine_mark[] = "# machine: ";

static int append_text(struct journal *journal, struct strbuf *text, struct err *err)
{
	if (strbuf_failed(text) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	struct stat before;
	if (fstat(journal->fd, &before) < 0)
		return err_set(
			err, -errno, "cannot write '%s': %s", journal->path, strerror(errno));
	size_t done = 0;
	while (done < text->length) {
		ssize_t n = write(journal->fd, text->text + done, text->length - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int code = n < 0 ? -errno : -EIO;
			(void)!ftruncate(journal->fd, before.st_size); /* no torn line */
			return err_set(err, code,
				"cannot write '%s': %s (the rows before are kept)", journal->path,
				strerror(-code));
		}
		done += (size_t)n;
	}
	return 0;
}

static void add_header(struct strbuf *out, const struct journal_subject *subject)
{
	strbuf_add(out, subject->has_throughput ? "threads,throughput,time" : "threads,time");
	strbuf_add(out, ",repeat,user_s,system_s,rss_bytes,voluntary_switches,involuntary_switches,"
			"wait_for_core_s");
	for (size_t i = 0; i < subject->stall_count; i++)
		strbuf_addf(out, ",stall:%s", subject->stall_names[i]);
	strbuf_add(out, "\n");
}

static int write_beginning(
	struct journal *journal, const struct journal_subject *subject, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	char date[64] = "";
	time_t now = time(NULL);
	struct tm utc;
	if (gmtime_r(&now, &utc))
		(void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc); /* fits */
	strbuf_addf(&text, "%s%s measure, %s, %s\n", first_mark, CORECAST_VERSION, date,
		subject->system);
	strbuf_addf(&text, "%s%s\n%s%s\n%s%s\n", machine_mark, subject->machine, command_mark,
		subject->command, settings_mark, subject->settings);
	add_header(&text, subject);
	if (subject->stall_count > 0)
		strbuf_addf(&text, "# stalls: %s, summed over threads\n", subject->stall_unit);
	return append_text(journal, &text, err);
}

/* Cuts what follows the last newline. */
static int drop_torn_line(struct journal *journal, struct err *err)
{
	struct stat st;
	if (fstat(journal->fd, &st) < 0)
		return err_set(err, -errno, "cannot read '%s': %s", journal->path, strerror(errno));
	off_t end = st.st_size;
	char byte = '\0';
	while (end > 0 && pread(journal->fd, &byte, 1, end - 1) == 1 && byte != '\n')
		end--;
	if (end == st.st_size)
		return 0;
	if (ftruncate(journal->fd, end) < 0)
		return err_set(err, -errno, "cannot drop the torn last line of '%s': %s",
			journal->path, strerror(errno));
	return 0;
}

static int differs(const struct journal *journal, const char *what, const char *there,
	const char *here, struct err *err)
{
	return err_set(err, -EINVAL,
		"cannot resume '%s': %s was\n  %s\nand now is\n  %s\n"
		"(repeat the same, or measure into another file)",
		journal->path, what, there, here);
}

/* Compares a line that starts with `mark`; true if it is of that kind. */
static bool check_mark(const struct journal *journal, const char *line, const char *mark,
	const char *what, const char *wanted, int *ret_status, struct err *err)
{
	size_t length = strlen(mark);
	if (strncmp(line, mark, length) != 0)
		return false;
	if (strcmp(line + length, wanted) != 0)
		*ret_status = differs(journal, what, line + length, wanted, err);
	return true;
}

/* The file's beginning says what its rows are: command, settings and columns must be ours. */
static int check_beginning(struct journal *journal, const struct journal_subject *subject,
	bool *ret_has_rows, struct err *err)
{
	AUTO_FILE FILE *in = fopen(journal->path, "re");
	if (!in)
		return err_set(err, -errno, "cannot read '%s': %s", journal->path, strerror(errno));
	AUTO_RELEASE(strbuf) struct strbuf header = { 0 };
	add_header(&header, subject);
	if (strbuf_failed(&header) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	header.text[header.length - 1] = '\0';

	AUTO_FREE char *line = NULL;
	size_t capacity = 0;
	bool has_command = false;
	for (;;) {
		ssize_t length = getline(&line, &capacity, in);
		if (length < 0)
			return err_set(err, -EINVAL,
				"cannot resume '%s': it has no header (not written by corecast "
				"measure?)",
				journal->path);
		line[strcspn(line, "\r\n")] = '\0';
		int status = 0;
		has_command |= check_mark(
			journal, line, command_mark, "the command", subject->command, &status, err);
		(void)check_mark(journal, line, settings_mark, "the line of settings",
			subject->settings, &status, err); /* an edited file may not say */
		(void)check_mark(journal, line, machine_mark, "the machine", subject->machine,
			&status, err); /* as above */
		if (status < 0)
			return status;
		if (line[0] != '#' && line[0] != '\0')
			break;
	}
	if (!has_command)
		return err_set(err, -EINVAL,
			"cannot resume '%s': it does not say which command it measured "
			"('# command:' line)",
			journal->path);
	if (strcmp(line, header.text) != 0)
		return differs(journal, "the header of columns", line, header.text, err);
	while (!*ret_has_rows && getline(&line, &capacity, in) >= 0)
		*ret_has_rows = line[0] != '#' && strchr(line, '\n');
	return 0;
}

/* Whether a measurement wrote it that kept no run: one whose program failed, or that was stopped at once. */
static bool is_without_rows(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	AUTO_FILE FILE *in = fopen(path, "re");
	AUTO_FREE char *line = NULL;
	size_t capacity = 0, others = 0;
	bool is_ours = in && getline(&line, &capacity, in) >= 0 &&
		       strncmp(line, first_mark, strlen(first_mark)) == 0;
	while (is_ours && getline(&line, &capacity, in) >= 0)
		others += line[0] != '#';
	return is_ours && others <= 1; /* the header of columns */
}

static int open_file(struct journal *journal, enum journal_mode mode, struct err *err)
{
	int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC;
	if (mode == JOURNAL_NEW && is_without_rows(journal->path))
		mode = JOURNAL_REPLACE;
	if (mode == JOURNAL_NEW)
		flags |= O_EXCL;
	if (mode == JOURNAL_REPLACE)
		flags |= O_TRUNC;
	journal->fd = open(journal->path, flags, 0666);
	if (journal->fd >= 0)
		return 0;
	if (errno == EEXIST)
		return err_set(err, -EEXIST,
			"'%s' is there already: continue it with --resume, replace it with "
			"--force, or name another with -o",
			journal->path);
	return err_set(err, -errno, "cannot write '%s': %s", journal->path, strerror(errno));
}

int journal_open(struct journal *journal, const char *path, enum journal_mode mode,
	const struct journal_subject *subject, bool *ret_has_rows, struct err *err)
{
	*journal = (struct journal){ .fd = -1,
		.path = strdup(path),
		.has_throughput = subject->has_throughput,
		.stall_count = subject->stall_count };
	if (!journal->path)
		return err_set(err, -ENOMEM, "out of memory");
	int status = open_file(journal, mode, err);
	if (status < 0)
		return status;
	struct stat st;
	if (fstat(journal->fd, &st) < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	bool has_rows = false;
	bool resumed = mode == JOURNAL_RESUME && S_ISREG(st.st_mode) && st.st_size > 0;
	if (resumed) {
		/* First whether it is ours at all: nobody else's file is cut. */
		status = check_beginning(journal, subject, &has_rows, err);
		if (status == 0)
			status = drop_torn_line(journal, err);
	} else {
		status = write_beginning(journal, subject, err);
		if (status < 0 && S_ISREG(st.st_mode))
			(void)unlink(path); /* at worst an empty file stays */
	}
	if (status == 0)
		*ret_has_rows = has_rows;
	return status;
}

void journal_release(struct journal *journal)
{
	cleanup_fd(&journal->fd);
	free(journal->path);
	*journal = (struct journal){ .fd = -1 };
}

static void add_number(struct strbuf *out, double value)
{
	if (isnan(value))
		strbuf_add(out, ",");
	else
		strbuf_addf(out, ",%.9g", value);
}

int journal_append(struct journal *journal, const struct record *record, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf row = { 0 };
	strbuf_addf(&row, "%u", record->threads);
	if (journal->has_throughput)
		add_number(&row, record->throughput);
	add_number(&row, record->wall_s);
	strbuf_addf(&row, ",%u", record->repeat);
	add_number(&row, record->user_s);
	add_number(&row, record->system_s);
	add_number(&row, record->rss_bytes);
	add_number(&row, record->voluntary_switches);
	add_number(&row, record->involuntary_switches);
	add_number(&row, record->wait_for_core_s);
	for (size_t i = 0; i < journal->stall_count; i++)
		add_number(&row, record->stalls[i]);
	strbuf_add(&row, "\n");
	return append_text(journal, &row, err);
}

int journal_comment(struct journal *journal, struct err *err, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int length = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (length < 0) {
		text = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	for (char *c = strpbrk(text, "\r\n"); c; c = strpbrk(c, "\r\n"))
		*c = ' ';
	AUTO_RELEASE(strbuf) struct strbuf line = { 0 };
	strbuf_addf(&line, "# %s\n", text);
	return append_text(journal, &line, err);
}
