/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of the larger examples, as a table. */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

#include "examples/common/arguments.h"

#include <getopt.h>
#include <stdbool.h>

/* An option of a program, "--name" or "-n", and where its value goes. */
struct argument {
	const char *name; /* NULL: the end of a table */
	enum { ARGUMENT_TEXT, ARGUMENT_COUNT, ARGUMENT_NUMBER, ARGUMENT_IS_SET } kind;
	void *to; /* const char **, uint32_t *, double *, bool * */
	double least, most; /* of counts and numbers */
	char letter; /* 0: the name's first */
};

enum { ARGUMENTS_MAX = 16 };

static inline void argument_store(const struct argument *argument, const char *text)
{
	char name[32];
	(void)snprintf(name, sizeof(name), "--%s", argument->name); /* cut is fine */
	switch (argument->kind) {
	case ARGUMENT_TEXT:
		*(const char **)argument->to = text;
		break;
	case ARGUMENT_COUNT:
		*(uint32_t *)argument->to =
			count_of(name, text, (uint32_t)argument->least, (uint32_t)argument->most);
		break;
	case ARGUMENT_NUMBER:
		*(double *)argument->to = number_of(name, text, argument->least, argument->most);
		break;
	case ARGUMENT_IS_SET:
		*(bool *)argument->to = true;
		break;
	}
}

/* Reads all options, and "--help"; `usage` prints and ends the program. Operands are from argv[optind] on, `operands` of them. */
static inline void read_arguments(int argc, char **argv, const struct argument *arguments,
	int operands, void (*usage)(FILE *out))
{
	struct option options[ARGUMENTS_MAX + 2] = { { "help", no_argument, NULL, 'h' } };
	const struct argument *by_letter[128] = { 0 };
	char letters[2 * ARGUMENTS_MAX + 2] = "h";
	for (size_t i = 0, used = 1; arguments[i].name && i < ARGUMENTS_MAX; i++) {
		const struct argument *argument = &arguments[i];
		char letter = argument->letter ? argument->letter : argument->name[0];
		int has_value = argument->kind == ARGUMENT_IS_SET ? no_argument : required_argument;
		options[i + 1] = (struct option){ argument->name, has_value, NULL, letter };
		by_letter[(int)letter] = argument;
		letters[used++] = letter;
		if (has_value == required_argument)
			letters[used++] = ':';
	}
	for (int option; (option = getopt_long(argc, argv, letters, options, NULL)) >= 0;) {
		if (option == 'h')
			usage(stdout);
		if (!by_letter[option])
			usage(stderr);
		argument_store(by_letter[option], optarg);
	}
	if (argc - optind != operands)
		usage(stderr);
}

#endif
