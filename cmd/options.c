/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One parser for every command's option table, and the help that the table is. */
#include "command.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/strbuf.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { HELP_COLUMN = 28, HELP_WIDTH = 80 };

int command_usage_error(const struct command *command, const char *fmt, ...)
{
	fprintf(stderr, "corecast %s: ", command->name);
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nTry 'corecast %s --help'.\n", command->name);
	return EXIT_USAGE;
}

int command_program_or_pid(const struct command *command, struct operands *operands, uint32_t pid)
{
	if (operands->program && !operands->program[0])
		operands->program = NULL;
	if (operands->count > 0)
		return command_usage_error(
			command, "'%s': the program goes behind --", operands->items[0]);
	bool has_program = operands->program != NULL;
	if (has_program == (pid != 0) || pid > INT32_MAX)
		return command_usage_error(
			command, "needs a program: either -- PROGRAM ARGS..., or -p PID");
	return 0;
}

int command_failure(const struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	struct err copy = *err;
	/* It may quote a file: of that, nothing is for the terminal to obey. */
	for (char *rest = copy.text, *line; (line = strsep(&rest, "\n"));) {
		strbuf_add(&text, line == copy.text ? "" : "\n");
		text_add_clean(&text, line);
	}
	fprintf(stderr, "corecast: %s\n", strbuf_failed(&text) < 0 ? "out of memory" : text.text);
	return EXIT_FAILURE;
}

int command_program_status(const char *program, int status)
{
	if (WIFSIGNALED(status))
		fprintf(stderr, "corecast: %s was ended by signal %d (%s)\n", program,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		fprintf(stderr, "corecast: %s exited with status %d\n", program,
			WEXITSTATUS(status));
	else
		return EXIT_SUCCESS;
	return EXIT_FAILURE;
}

int command_end(const struct err *err, char **program, int status)
{
	int ours = err ? command_failure(err) : EXIT_SUCCESS;
	int theirs = program ? command_program_status(program[0], status) : EXIT_SUCCESS;
	return ours == EXIT_SUCCESS ? theirs : ours;
}

/* The help text, folded at words behind the option's column. */
static void print_folded(const char *text, int column)
{
	while (*text) {
		int room = HELP_WIDTH - HELP_COLUMN;
		int length = (int)strlen(text);
		if (length > room) {
			length = room;
			while (length > 0 && text[length] != ' ')
				length--;
			if (length == 0)
				length = room;
		}
		printf("%*s%.*s\n", HELP_COLUMN - column, "", length, text);
		text += length;
		while (*text == ' ')
			text++;
		column = 0;
	}
}

static void print_help(const struct command *command)
{
	printf("corecast %s: %s\n\nUsage: corecast %s %s\n\n", command->name, command->summary,
		command->name, command->usage);
	for (const struct option_spec *o = command->options; o && o->long_name; o++) {
		char head[128];
		int n = snprintf(head, sizeof head, "  %c%c%s--%s%s%s", o->short_name ? '-' : ' ',
			o->short_name ? o->short_name : ' ', o->short_name ? ", " : "  ",
			o->long_name, o->argument ? " " : "", o->argument ? o->argument : "");
		fputs(head, stdout);
		if (n >= HELP_COLUMN - 1) {
			putchar('\n');
			n = 0;
		}
		print_folded(o->help, n);
	}
	fputs("  -h, --help", stdout);
	print_folded("this text", (int)strlen("  -h, --help"));
	printf("\nMan page: corecast-%s(1)\n", command->name);
}

static const struct option_spec *find_option(
	const struct command *command, const char *name, size_t length)
{
	for (const struct option_spec *o = command->options; o && o->long_name; o++)
		if (strlen(o->long_name) == length && strncmp(o->long_name, name, length) == 0)
			return o;
	return NULL;
}

static const struct option_spec *find_short_option(const struct command *command, char name)
{
	for (const struct option_spec *o = command->options; o && o->long_name; o++)
		if (o->short_name == name)
			return o;
	return NULL;
}

static int store_u32(const struct command *command, const struct option_spec *option,
	const char *text, uint32_t *field)
{
	uint32_t most = option->most ? option->most : UINT32_MAX;
	uint32_t value;
	bool is_number = number_parse_u32(text, &value) == 0;
	if (is_number && value >= option->least && value <= most) {
		*field = value;
		return 0;
	}
	if (option->most == 0)
		return command_usage_error(command,
			"--%s: '%s' is not a whole number of at least %" PRIu32, option->long_name,
			text, option->least);
	return command_usage_error(command,
		"--%s: '%s' is not a whole number from %" PRIu32 " to %" PRIu32, option->long_name,
		text, option->least, most);
}

static int store(const struct command *command, const struct option_spec *option, const char *text,
	void *values)
{
	void *field = (char *)values + option->offset;
	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_STRING:
	case OPTION_OUTPUT:
		*(const char **)field = text;
		return 0;
	case OPTION_U32:
		return store_u32(command, option, text, field);
	case OPTION_DOUBLE: {
		double value;
		if (number_parse_double(text, &value) < 0 || !isfinite(value))
			return command_usage_error(
				command, "--%s: '%s' is not a number", option->long_name, text);
		*(double *)field = value;
		return 0;
	}
	case OPTION_STRINGS: {
		struct option_strings *list = field;
		if (list->count == OPTION_STRINGS_MAX)
			return command_usage_error(command, "--%s: given more than %d times",
				option->long_name, OPTION_STRINGS_MAX);
		list->items[list->count++] = text;
		return 0;
	}
	}
	return 0;
}

/* Parses argv[*at], which starts with a dash; *at moves to its last word. */
static int parse_one(const struct command *command, int argc, char **argv, int *at, void *values)
{
	const char *word = argv[*at];
	bool is_long = word[1] == '-';
	const char *name = is_long ? word + 2 : word + 1;
	const char *equals = is_long ? strchr(name, '=') : NULL;
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_spec *option =
		is_long ? find_option(command, name, length) : find_short_option(command, *name);
	if (!option)
		return command_usage_error(command, "no such option: %s", word);

	const char *value = NULL;
	if (equals)
		value = equals + 1;
	else if (!is_long && name[1])
		value = name + 1;
	if (option->kind == OPTION_FLAG) {
		if (value)
			return command_usage_error(command, "%s takes no value", word);
	} else if (!value) {
		if (*at + 1 >= argc)
			return command_usage_error(
				command, "%s needs a value (%s)", word, option->argument);
		value = argv[++*at];
	}
	return store(command, option, value, values);
}

static int check_files(const struct command *command, const struct operands *operands)
{
	if (operands->program)
		return command_usage_error(
			command, "no program is run here: say which %s", command->files);
	if (operands->count < 1)
		return command_usage_error(command, "say which %s", command->files);
	if (operands->count > command->files_max)
		return command_usage_error(
			command, "more than %d: say which %s", command->files_max, command->files);
	return 0;
}

/* Whether two names are of one file; of what is no regular file (a device) that is no harm. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;
	if (stat(a, &x) < 0 || stat(b, &y) < 0)
		return strcmp(a, b) == 0 && strcmp(a, "-") != 0;
	return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The file that an option names; NULL if it names none. */
static const char *named_file(const struct option_spec *option, const void *values)
{
	bool is_text = option->kind == OPTION_STRING || option->kind == OPTION_OUTPUT;
	if (!is_text || !option->argument || strcmp(option->argument, "FILE") != 0)
		return NULL;
	return *(const char *const *)(const void *)((const char *)values + option->offset);
}

/* What is written must not replace what is read, nor what else is written. */
static int check_output(const struct command *command, const struct option_spec *option,
	const struct operands *operands, const void *values)
{
	const char *path = named_file(option, values);
	if (!path)
		return 0;
	for (int i = 0; command->files && i < operands->count; i++)
		if (is_same_file(path, operands->items[i]))
			return command_usage_error(command,
				"--%s would replace '%s', which is read: name another file",
				option->long_name, path);
	for (const struct option_spec *o = command->options; o->long_name; o++) {
		const char *other = o == option ? NULL : named_file(o, values);
		if (other && is_same_file(path, other))
			return command_usage_error(command, "--%s and --%s name the same file '%s'",
				option->long_name, o->long_name, path);
	}
	return 0;
}

static int check_outputs(
	const struct command *command, const struct operands *operands, const void *values)
{
	int status = 0;
	for (const struct option_spec *o = command->options; status == 0 && o && o->long_name; o++)
		if (o->kind == OPTION_OUTPUT)
			status = check_output(command, o, operands, values);
	return status;
}

/* Behind "--": the program, or, of a command that runs none, files whose names begin with a dash. */
static void take_rest(const struct command *command, char **words, struct operands *ret)
{
	if (!command->files || !*words || **words != '-') {
		ret->program = words;
		return;
	}
	while (*words)
		ret->items[ret->count++] = *words++;
}

bool options_parse(const struct command *command, int argc, char **argv, void *values,
	struct operands *ret, int *ret_status)
{
	*ret = (struct operands){ .items = argv + 1 };
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			take_rest(command, argv + i + 1, ret);
			break;
		}
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			print_help(command);
			*ret_status = 0;
			return false;
		}
		if (argv[i][0] != '-' || argv[i][1] == '\0')
			ret->items[ret->count++] = argv[i];
		else if (parse_one(command, argc, argv, &i, values) != 0) {
			*ret_status = EXIT_USAGE;
			return false;
		}
	}
	*ret_status = command->files ? check_files(command, ret) : 0;
	if (*ret_status == 0)
		*ret_status = check_outputs(command, ret, values);
	return *ret_status == 0;
}
