/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Command lines: substitution of the thread count, search in PATH, shell quoting. */
#include "collect/argv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char placeholder[] = "{n}";

char *argv_substitute(const char *word, uint32_t threads)
{
	AUTO_RELEASE(strbuf) struct strbuf s = { 0 };
	strbuf_add(&s, ""); /* text is not NULL even for an empty word */
	for (;;) {
		const char *hit = strstr(word, placeholder);
		if (!hit)
			break;
		strbuf_add_bytes(&s, word, (size_t)(hit - word));
		strbuf_addf(&s, "%u", threads);
		word = hit + strlen(placeholder);
	}
	strbuf_add(&s, word);
	if (strbuf_failed(&s) < 0)
		return NULL;
	return TAKE(s.text);
}

void argv_free(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}

int argv_expand(char *const *words, uint32_t threads, char ***ret)
{
	size_t count = 0;
	while (words[count])
		count++;
	AUTO(argv) char **expanded = calloc(count + 1, sizeof *expanded);
	if (!expanded)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		expanded[i] = argv_substitute(words[i], threads);
		if (!expanded[i])
			return -ENOMEM;
	}
	*ret = TAKE(expanded);
	return 0;
}

bool argv_has_count(char *const *words)
{
	for (; *words; words++)
		if (strstr(*words, placeholder))
			return true;
	return false;
}

static bool is_executable_file(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int find_by_path(const char *program, char **ret, struct err *err)
{
	if (access(program, F_OK) < 0)
		return err_set(err, -ENOENT, "cannot run '%s': there is no such file", program);
	if (!is_executable_file(program))
		return err_set(err, -EACCES,
			"cannot run '%s': it is not an executable file (chmod +x, or name its "
			"interpreter)",
			program);
	char *copy = strdup(program);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = copy;
	return 0;
}

int argv_find_program(const char *program, char **ret, struct err *err)
{
	if (strchr(program, '/'))
		return find_by_path(program, ret, err);
	const char *path = getenv("PATH");
	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	while (*program) {
		size_t length = strcspn(path, ":");
		AUTO_FREE char *candidate = NULL;
		/* An empty element of PATH is the current folder. */
		if (asprintf(&candidate, "%.*s/%s", length ? (int)length : 1, length ? path : ".",
			    program) < 0) {
			candidate = NULL;
			return err_set(err, -ENOMEM, "out of memory");
		}
		if (is_executable_file(candidate)) {
			*ret = TAKE(candidate);
			return 0;
		}
		path += length;
		if (!*path)
			break;
		path++;
	}
	return err_set(err, -ENOENT,
		"cannot run '%s': no such program in PATH (install it, or give its path)", program);
}

void argv_quote_word(struct strbuf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./=:,+@%{}";
	if (*word && word[strspn(word, plain)] == '\0') {
		strbuf_add(out, word);
		return;
	}
	strbuf_add(out, "'");
	for (; *word; word++) {
		if (*word == '\'')
			strbuf_add(out, "'\\''");
		else if (*word == '\n')
			strbuf_add(out, "'$'\\n''");
		else if (*word == '\r')
			strbuf_add(out, "'$'\\r''");
		else
			strbuf_add_bytes(out, word, 1);
	}
	strbuf_add(out, "'");
}

void argv_quote(struct strbuf *out, char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (i)
			strbuf_add(out, " ");
		argv_quote_word(out, words[i]);
	}
}
