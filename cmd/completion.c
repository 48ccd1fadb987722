/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shell completion, printed from the command table: after the command, its options; after an option
 * with words in its argument ("a|b|c"), those words; else files.
 */
#include "completion.h"

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_words(const char *alternatives)
{
	for (const char *p = alternatives; *p; p++)
		putchar(*p == '|' ? ' ' : *p);
}

static void print_bash(void)
{
	fputs("_corecast() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} "
	      "prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tCOMPREPLY=()\n\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W "
	      "\"",
		stdout);
	for (const struct command *const *c = commands; *c; c++)
		printf("%s ", (*c)->name);
	fputs("completion help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n"
	      "\tcase \"${COMP_WORDS[1]} $prev\" in\n",
		stdout);
	for (const struct command *const *c = commands; *c; c++)
		for (const struct option_spec *o = (*c)->options; o && o->long_name; o++)
			if (o->argument && strchr(o->argument, '|')) {
				printf("\t'%s --%s') COMPREPLY=($(compgen -W \"", (*c)->name,
					o->long_name);
				print_words(o->argument);
				fputs("\" -- \"$cur\")); return ;;\n", stdout);
			}
	fputs("\tesac\n\tif [[ $cur == -* ]]; then\n\t\tcase ${COMP_WORDS[1]} in\n", stdout);
	for (const struct command *const *c = commands; *c; c++) {
		printf("\t\t%s) COMPREPLY=($(compgen -W \"--help", (*c)->name);
		for (const struct option_spec *o = (*c)->options; o && o->long_name; o++)
			printf(" --%s", o->long_name);
		fputs("\" -- \"$cur\")) ;;\n", stdout);
	}
	fputs("\t\tesac\n\tfi\n}\ncomplete -o default -o bashdefault -F _corecast corecast\n",
		stdout);
}

static void print_zsh(void)
{
	fputs("#compdef corecast\nautoload -U +X bashcompinit && bashcompinit\n", stdout);
	print_bash();
	/* Installed in fpath, the whole file is what the first completion calls: it must also answer. */
	fputs("if [ \"$funcstack[1]\" = _corecast ]; then\n"
	      "\t_bash_complete -o default -o bashdefault -F _corecast\nfi\n",
		stdout);
}

static void print_fish_text(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void print_fish(void)
{
	for (const struct command *const *c = commands; *c; c++) {
		printf("complete -c corecast -n __fish_use_subcommand -a %s -d ", (*c)->name);
		print_fish_text((*c)->summary);
		putchar('\n');
		for (const struct option_spec *o = (*c)->options; o && o->long_name; o++) {
			printf("complete -c corecast -n '__fish_seen_subcommand_from %s' -l %s",
				(*c)->name, o->long_name);
			if (o->short_name)
				printf(" -s %c", o->short_name);
			if (o->argument)
				fputs(" -r", stdout);
			if (o->argument && strchr(o->argument, '|')) {
				fputs(" -f -a '", stdout);
				print_words(o->argument);
				putchar('\'');
			}
			fputs(" -d ", stdout);
			print_fish_text(o->help);
			putchar('\n');
		}
	}
}

int completion_print(const char *shell)
{
	if (shell && strcmp(shell, "bash") == 0)
		print_bash();
	else if (shell && strcmp(shell, "zsh") == 0)
		print_zsh();
	else if (shell && strcmp(shell, "fish") == 0)
		print_fish();
	else {
		fputs("corecast completion: say which shell: bash, zsh or fish\n", stderr);
		return EXIT_USAGE;
	}
	return 0;
}
