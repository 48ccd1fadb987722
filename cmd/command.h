/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A subcommand is one const struct: its name, a line about it, usage, an option table and a
 * function. Help, the parser and shell completion all come from the table.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_USAGE = 2 };

enum option_kind {
	OPTION_FLAG, /* bool */
	OPTION_STRING, /* const char * */
	OPTION_OUTPUT, /* the same: a file that is written, so none that is read, or written by another option */
	OPTION_U32, /* uint32_t */
	OPTION_DOUBLE, /* double, finite */
	OPTION_STRINGS, /* struct option_strings: may be given several times */
};

struct option_strings {
	enum { OPTION_STRINGS_MAX = 64 } max; /* no storage: names the bound */
	size_t count;
	const char *items[OPTION_STRINGS_MAX];
};

struct option_spec {
	char short_name; /* 0: none */
	const char *long_name; /* NULL ends a table */
	const char *argument; /* what help calls the value; NULL for flags; "FILE" completes files,
				 "a|b|c" completes these words */
	const char *help;
	enum option_kind kind;
	size_t offset; /* of the field in the command's option struct */
	uint32_t least, most; /* OPTION_U32: what may be given; most 0: no bound */
};

struct command {
	const char *name;
	const char *summary; /* one line, no full stop */
	const char *usage; /* after "corecast NAME " */
	/* What it reads, for who forgets it: "profile: APP.ccp", of which there may be so many; NULL: no files. */
	const char *files;
	int files_max;
	const struct option_spec *options;
	/* Parses its own arguments with options_parse(); argv[0] is the command's name.
	   Returns an exit status: 0, EXIT_FAILURE or EXIT_USAGE. */
	int (*run)(const struct command *command, int argc, char **argv);
};

/* What is left after the options. */
struct operands {
	char **items; /* points into argv */
	int count;
	char **program; /* after "--", NULL-terminated; NULL if there was none */
};

/*
 * Fills the fields of `values` by the command's table; later options win. Of a command that reads files there are
 * from one to files_max of them in *ret, and no program. False: it has printed the help, or what is wrong, and
 * *ret_status is the exit status.
 */
bool options_parse(const struct command *command, int argc, char **argv, void *values,
	struct operands *ret, int *ret_status);

/* Prints "corecast NAME: text" and the way to help on stderr; returns EXIT_USAGE. */
int command_usage_error(const struct command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * For commands that start a program or look at one that runs: either of them is there, and nothing else. 0, or
 * EXIT_USAGE once it has said what is wrong. An empty program is NULL afterwards.
 */
int command_program_or_pid(const struct command *command, struct operands *operands, uint32_t pid);

/* Prints "corecast: text" on stderr; returns EXIT_FAILURE. */
int command_failure(const struct err *err);

/*
 * How a program that we ran has ended, as waitpid() gives it. Its own failure is not ours, but is told on stderr and
 * is our exit status, EXIT_FAILURE, too.
 */
int command_program_status(const char *program, int status);

/* Both, for one that runs beside a program: our own failure (NULL: none), then the program's (NULL: it is not ours). */
int command_end(const struct err *err, char **program, int status);

extern const struct command *const commands[]; /* ends with NULL */

#endif
