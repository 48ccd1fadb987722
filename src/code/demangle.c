/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/demangle.h"

#include "base/cleanup.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_DEMANGLE
#include <libiberty/demangle.h>

/* All mangled names begin with an underscore; the others need not be tried. */
char *demangle(const char *name)
{
	return name[0] == '_' ? cplus_demangle(name, DMGL_AUTO) : NULL;
}
#else
char *demangle(const char *name)
{
	(void)name;
	return NULL;
}
#endif

/* What compilers put behind the name of a copy of a function. */
static size_t length_in_source(const char *name)
{
	static const char *const marks[] = { ".isra.", ".constprop.", ".part.", ".cold",
		".lto_priv.", ".llvm.", " [clone " };
	size_t length = strlen(name);
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		const char *mark = strstr(name, marks[i]);
		if (mark && mark > name && (size_t)(mark - name) < length)
			length = (size_t)(mark - name);
	}
	return length;
}

/* What ends behind an argument of a template: a comma or bracket that was not opened in it. */
static size_t argument_length(const char *text)
{
	int depth = 0;
	size_t length = 0;
	for (; text[length]; length++) {
		char c = text[length];
		if (depth == 0 && (c == ',' || c == '>'))
			break;
		depth += strchr("<({", c) != NULL;
		depth -= strchr(">)}", c) != NULL;
	}
	return length;
}

/* libstdc++'s function around what a thread was given to run; NULL: it is none, or does not tell. */
static char *name_of_started(const char *name)
{
	static const char thread[] = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<";
	static const char async[] =
		"std::__future_base::_Async_state_impl<std::thread::_Invoker<std::tuple<";
	static const char end[] = "::_M_run";
	size_t length = strlen(name), end_length = strlen(end);
	bool is_thread = strncmp(name, thread, strlen(thread)) == 0;
	if (length < end_length || strcmp(name + length - end_length, end) != 0)
		return NULL;
	if (is_thread)
		name += strlen(thread);
	bool is_async = strncmp(name, async, strlen(async)) == 0;
	if (is_async)
		name += strlen(async);
	if (!is_thread && !is_async)
		return NULL;
	char *text = NULL;
	if (asprintf(&text, is_async ? "std::async(%.*s)" : "%.*s", (int)argument_length(name),
		    name) < 0)
		return NULL;
	return text;
}

char *name_in_source(const char *symbol)
{
	AUTO_FREE char *full = demangle(symbol);
	const char *name = full ? full : symbol;
	char *started = full ? name_of_started(full) : NULL;
	return started ? started : strndup(name, length_in_source(name));
}

static bool begins(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

/* As it is mangled, so that nothing is read for the many that are not. */
bool is_around_given(const char *symbol)
{
	static const char end[] = "6_M_runEv";
	size_t length = strlen(symbol), end_length = strlen(end);
	return (begins(symbol, "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleI") ||
		       begins(symbol, "_ZNSt13__future_base17_Async_state_implINSt6thread8_"
				      "InvokerISt5tupleI")) &&
	       length > end_length && strcmp(symbol + length - end_length, end) == 0;
}
