/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words of a command line: `{n}` put in, found in PATH, and written as a person could paste
 * them into a shell.
 */
#ifndef COLLECT_ARGV_H
#define COLLECT_ARGV_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* `word` with every "{n}" replaced by the count, allocated. NULL without memory. */
char *argv_substitute(const char *word, uint32_t threads);

/* All words of a NULL-terminated command line so. 0 or -ENOMEM; free with argv_free(). */
int argv_expand(char *const *words, uint32_t threads, char ***ret);
void argv_free(char **words);

/* Whether any word contains "{n}". */
bool argv_has_count(char *const *words);

/*
 * The file that `program` means: itself when it has a slash, else the first executable in PATH.
 * 0, -ENOENT, -EACCES (there, but not executable), -ENOMEM; the text says which. The caller frees.
 */
int argv_find_program(const char *program, char **ret, struct err *err);

/* Adds one word in shell quoting. */
void argv_quote_word(struct strbuf *out, const char *word);

/* Adds the words in shell quoting, with spaces between, on one line: newlines become $'\n'. */
void argv_quote(struct strbuf *out, char *const *words);

static inline void cleanup_argv(char ***words)
{
	argv_free(*words);
}

#endif
