/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A self-contained HTML page, built from the top:
 *
 *	page_begin(out, "runs.csv");
 *	page_section(out, "Forecast");
 *	page_figure(out, &figure);
 *	page_end(out, "method auto");
 *
 * It fetches nothing: a Content-Security-Policy in it forbids that to the browser. A figure is an
 * SVG; with scripts and a bundled Vega-Lite its specification takes the SVG's place.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "report/figure.h"

/* Head, style and the heading. All text here is escaped. */
void page_begin(struct strbuf *out, const char *title);
void page_section(struct strbuf *out, const char *heading);

/* Of a page about several files: the sections that follow are about this one. */
void page_file(struct strbuf *out, const char *name);

/* Sentences separated by line breaks: the first one stands out, the others are a list. */
void page_findings(struct strbuf *out, const char *sentences);

/* With its title and legend. */
void page_figure(struct strbuf *out, const struct figure *figure);

/*
 * A table: a head, rows of cells, an end. The first cell of a row is its heading, the others are
 * figures; in a table with words the last is words.
 */
void page_table_begin(struct strbuf *out, const char *const *heads, size_t count);
void page_words_table_begin(struct strbuf *out, const char *const *heads, size_t count);
void page_table_row(struct strbuf *out, const char *const *cells, size_t count);
void page_table_end(struct strbuf *out);

/* Each item with a bullet. */
void page_list(struct strbuf *out, const char *const *items, size_t count);

/* A footer line, and the script that draws the figures. */
void page_end(struct strbuf *out, const char *footer);

#endif
