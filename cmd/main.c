/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: an array of commands, from which help and completion are printed. */
#include "command.h"
#include "completion.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct command cmd_doctor, cmd_measure, cmd_forecast, cmd_record, cmd_criticality,
	cmd_model, cmd_simulate, cmd_profile, cmd_predict, cmd_explore, cmd_top, cmd_whatif,
	cmd_tune, cmd_boost, cmd_report, cmd_export;

const struct command *const commands[] = { &cmd_doctor, &cmd_measure, &cmd_forecast, &cmd_record,
	&cmd_criticality, &cmd_model, &cmd_simulate, &cmd_profile, &cmd_predict, &cmd_explore,
	&cmd_top, &cmd_whatif, &cmd_tune, &cmd_boost, &cmd_report, &cmd_export, NULL };

static void print_overview(FILE *out)
{
	fputs("corecast: how a multithreaded program performs on thread counts nobody has run\n\n"
	      "Usage: corecast COMMAND [options] [-- PROGRAM ARGS...]\n\n",
		out);
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "  %-12s %s\n", (*c)->name, (*c)->summary);
	fputs("\n  completion bash|zsh|fish   shell completion on standard output\n"
	      "  --version                  version and licence\n\n"
	      "'corecast COMMAND --help' tells more; start with 'corecast doctor'.\n",
		out);
}

/* A command that has failed has said why. */
static int finish(int status)
{
	bool is_written = fflush(stdout) == 0 && !ferror(stdout);
	if (status == 0 && !is_written) {
		perror("corecast: cannot write standard output");
		return EXIT_FAILURE;
	}
	return status;
}

static bool asks_for_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* A limit to the size of files (ulimit -f) is an error of write(2), which is told. Programs that we start do not inherit a handler. */
static void ignore_signal(int signal)
{
	(void)signal;
}

/*
 * Where standard input, output or error is closed, the next file that is opened would be it, and be written to or shown.
 * What takes their places can be neither read nor written, and programs that we start do not get it.
 */
static int keep_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_PATH | O_CLOEXEC) != fd)
			return EXIT_FAILURE;
	return 0;
}

int main(int argc, char **argv)
{
	if (keep_standard_files() != 0)
		return EXIT_FAILURE;
	(void)signal(SIGXFSZ, ignore_signal); /* fails for no known signal */
	if (argc < 2) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "help") == 0 && argc > 2) {
		static char help[] = "--help";
		name = argv[2];
		argv[1] = argv[2];
		argv[2] = help;
	}
	bool is_completion = strcmp(name, "completion") == 0;
	if (asks_for_help(name) || strcmp(name, "help") == 0 ||
		(is_completion && argc > 2 && asks_for_help(argv[2]))) {
		print_overview(stdout);
		return finish(0);
	}
	if (strcmp(name, "--version") == 0) {
		puts("corecast " CORECAST_VERSION "\nLicence: GPL-3.0-or-later");
		return finish(0);
	}
	if (is_completion)
		return finish(completion_print(argc > 2 ? argv[2] : NULL));
	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return finish((*c)->run(*c, argc - 1, argv + 1));
	fprintf(stderr, "corecast: no such command: %s\nTry 'corecast --help'.\n", name);
	return EXIT_USAGE;
}
