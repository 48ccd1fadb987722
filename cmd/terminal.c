/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The environment's say in how text looks: terminal or not, its width, locale, NO_COLOR. */
#include "terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { TEXT_COLUMNS = 80 };

static bool is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	if (!locale)
		return false;
	bool yes = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	freelocale(locale);
	return yes;
}

struct text_style terminal_style(FILE *stream)
{
	const char *no_colour = getenv("NO_COLOR");
	struct text_style style = { .width = TEXT_COLUMNS, .is_utf8 = is_utf8() };
	struct winsize size;
	if (!isatty(fileno(stream)))
		return style;
	style.has_colour = !no_colour || *no_colour == '\0';
	if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
		size.ws_col < TEXT_COLUMNS)
		style.width = size.ws_col;
	return style;
}
