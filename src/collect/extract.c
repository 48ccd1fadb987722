/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Line by line over a mapping of the file: no copies, any size, lines may hold any bytes. */
#include "collect/extract.h"

#include "base/number.h"
#include "collect/regex_bound.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
	LINE_BYTES = 64 << 10, /* of longer lines (binary output) only so much is searched */
	NUMBER_BYTES = 64,
	SHOWN_BYTES = 200,
};

struct tally {
	double value;
	int count;
};

/* For messages: cut, and control characters as '?'. */
static void make_printable(const char *text, size_t length, char *ret, size_t size)
{
	size_t i = 0;
	for (; i < length && i + 1 < size; i++)
		ret[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
	ret[i] = '\0';
}

int extractor_init(struct extractor *extractor, const char *expression, enum reduction reduction,
	struct err *err)
{
	*extractor = (struct extractor){ .reduction = reduction };
	int status = regex_bound_check(expression, err);
	if (status < 0)
		return status;
	char shown[SHOWN_BYTES];
	make_printable(expression, strlen(expression), shown, sizeof shown);
	status = regcomp(&extractor->regex, expression, REG_EXTENDED);
	if (status != 0) {
		char reason[128];
		(void)regerror(status, &extractor->regex, reason, sizeof reason); /* cut is fine */
		return err_set(err, -EINVAL, "'%s' is not an extended regular expression: %s",
			shown, reason);
	}
	if (extractor->regex.re_nsub >= 1 || reduction == REDUCE_COUNT)
		return 0;
	regfree(&extractor->regex);
	return err_set(err, -EINVAL,
		"'%s' has no group: put parentheses around the number, as in 'ops: ([0-9.]+)'",
		shown);
}

void extractor_release(struct extractor *extractor)
{
	regfree(&extractor->regex);
}

static void tally_add(struct tally *tally, enum reduction reduction, double value)
{
	bool is_first = tally->count == 0;
	if (tally->count < INT_MAX)
		tally->count++;
	switch (reduction) {
	case REDUCE_LAST:
		tally->value = value;
		break;
	case REDUCE_MIN:
		tally->value = is_first ? value : fmin(tally->value, value);
		break;
	case REDUCE_MAX:
		tally->value = is_first ? value : fmax(tally->value, value);
		break;
	case REDUCE_SUM:
	case REDUCE_AVERAGE:
	case REDUCE_COUNT:
		tally->value = is_first ? value : tally->value + value;
		break;
	}
}

static bool parse_number(const char *text, size_t length, double *ret)
{
	char number[NUMBER_BYTES];
	double value;
	if (length >= sizeof number)
		return false;
	memcpy(number, text, length);
	number[length] = '\0';
	if (number_parse_printed(number, &value) < 0 || !isfinite(value))
		return false;
	*ret = value;
	return true;
}

int extractor_line(const struct extractor *extractor, const char *line, size_t length,
	double *ret_value, struct err *err)
{
	regmatch_t match[2] = { { .rm_so = 0, .rm_eo = (regoff_t)length } };
	if (regexec(&extractor->regex, line, 2, match, REG_STARTEND) != 0)
		return 0;
	if (extractor->reduction == REDUCE_COUNT) {
		*ret_value = 1;
		return 1;
	}
	if (match[1].rm_so < 0)
		return 0;
	const char *captured = line + match[1].rm_so;
	size_t captured_length = (size_t)(match[1].rm_eo - match[1].rm_so);
	if (parse_number(captured, captured_length, ret_value))
		return 1;
	char shown[NUMBER_BYTES], shown_line[SHOWN_BYTES];
	make_printable(captured, captured_length, shown, sizeof shown);
	make_printable(line, length, shown_line, sizeof shown_line);
	return err_set(err, -EINVAL, "the expression captured '%s' of '%s': not a number", shown,
		shown_line);
}

static int search_line(const struct extractor *extractor, const char *line, size_t length,
	struct tally *tally, struct err *err)
{
	double value = NAN;
	int found = extractor_line(extractor, line, length, &value, err);
	if (found > 0)
		tally_add(tally, extractor->reduction, value);
	return found < 0 ? found : 0;
}

static int search_text(const struct extractor *extractor, const char *text, size_t size,
	struct tally *tally, struct err *err)
{
	while (size > 0) {
		const char *newline = memchr(text, '\n', size);
		size_t length = newline ? (size_t)(newline - text) : size;
		int status = search_line(
			extractor, text, length < LINE_BYTES ? length : LINE_BYTES, tally, err);
		if (status < 0)
			return status;
		size_t step = newline ? length + 1 : length;
		text += step;
		size -= step;
	}
	return 0;
}

int extractor_read(const struct extractor *extractor, int fd, double *ret_value, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot read the output: %s", strerror(errno));
	struct tally tally = { .value = NAN };
	if (st.st_size > 0) {
		size_t size = (size_t)st.st_size;
		void *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (text == MAP_FAILED)
			return err_set(err, -errno, "cannot read the output: %s", strerror(errno));
		int status = search_text(extractor, text, size, &tally, err);
		(void)munmap(text, size); /* cannot fail: it is ours */
		if (status < 0)
			return status;
	}
	if (extractor->reduction == REDUCE_AVERAGE && tally.count > 0)
		tally.value /= tally.count;
	*ret_value = tally.value;
	return tally.count;
}
