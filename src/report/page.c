/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frame of HTML pages. */
#include "report/page.h"

#include "base/cleanup.h"
#include "report/charts.h"
#include "report/json.h"
#include "report/markup.h"
#include "report/report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/*
 * One column that fits a phone and a sheet of paper; light or dark as the reader's system is, always
 * light on paper. A table that is wider all the same scrolls, and has a shadow where there is more of it; on paper its
 * words go on in the next line.
 */
static const char style[] =
	":root{--ink:#1f2328;--paper:#fff;--faint:#57606a;--rule:#d0d7de}\n"
	"@media screen and (prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;"
	"--faint:#9da7b1;--rule:#3d444d}}\n"
	"body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:60rem;color:var(--ink);"
	"background:var(--paper);font:16px/1.5 system-ui,'DejaVu Sans',sans-serif}\n"
	"h1{font-size:1.6rem;line-height:1.2;margin:0 0 1rem;overflow-wrap:anywhere}\n"
	"h2.file{font-size:1.4rem;margin-top:3.4rem;border-bottom:0;overflow-wrap:anywhere}\n"
	"h2{font-size:1.2rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--rule);"
	"padding-bottom:.25rem}\n"
	".answer{font-size:1.25rem;margin:0 0 .6rem}\n"
	"ul{padding-left:1.2rem;margin:.4rem 0}li{overflow-wrap:anywhere}\n"
	"figure{margin:0}figure h3{font-size:1rem;margin:.8rem 0 .3rem;overflow-wrap:anywhere}\n"
	".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;padding:0 2.5rem 0 0;"
	"font-size:.875rem}.legend svg{vertical-align:-2px}\n"
	".static{overflow-x:auto}.static "
	"svg{min-width:640px;width:100%;height:auto;color:inherit}\n"
	".chart{width:100%}.chart svg{max-width:100%}\n"
	".wide{overflow-x:auto;background:"
	"linear-gradient(to right,var(--paper) 1rem,transparent) left/3rem 100% no-repeat local,"
	"linear-gradient(to left,var(--paper) 1rem,transparent) right/3rem 100% no-repeat local,"
	"linear-gradient(to right,var(--rule),transparent) left/1rem 100% no-repeat scroll,"
	"linear-gradient(to left,var(--rule),transparent) right/1rem 100% no-repeat scroll}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
	"font-size:.9375rem}\n"
	"th,td{padding:.3rem .9rem;text-align:right;white-space:nowrap;"
	"border-bottom:1px solid var(--rule)}"
	"thead th{color:var(--faint);font-weight:600;white-space:normal;vertical-align:bottom}\n"
	"th:first-child{text-align:left;white-space:normal}"
	".words :is(th,td):last-child{text-align:left}"
	".words td:last-child{white-space:normal;min-width:11rem}\n"
	"@media screen and (max-width:36rem){th,td{padding:.3rem .2rem;font-size:.8125rem;"
	"white-space:normal}.words td:last-child{min-width:5rem}}\n"
	"main .vega-embed.has-actions{padding-right:0}main .vega-embed summary{top:-2.2rem}\n"
	"footer{margin-top:2.5rem;color:var(--faint);font-size:.875rem}\n"
	"#vg-tooltip-element{background:var(--paper);color:var(--ink);border-color:var(--rule)}\n"
	"#vg-tooltip-element td{border:0}#vg-tooltip-element td.key{color:var(--faint)}\n"
	"@media print{body{max-width:none;padding:0;font-size:11pt}figure,tr{break-inside:avoid}"
	".vega-embed details{display:none}h2{break-after:avoid}"
	".wide{overflow:visible;background:none}"
	"th,td{padding:.2rem .35rem;font-size:8.5pt;white-space:normal}"
	"tbody th{overflow-wrap:anywhere}.words td:last-child{min-width:4rem}}\n";

/*
 * Puts a chart where each static figure is, once it is drawn: whatever goes wrong, the static one
 * stays. `ast` makes Vega interpret its expressions, which the policy below asks for.
 */
static const char draw[] =
	"for (const figure of document.querySelectorAll('figure')) {\n"
	"\tconst spec = JSON.parse(figure.querySelector('script').textContent);\n"
	"\tconst chart = document.createElement('div');\n"
	"\tchart.className = 'chart';\n"
	"\tfigure.append(chart);\n"
	"\tvegaEmbed(chart, spec, { renderer: 'svg', ast: true,\n"
	"\t\tactions: { export: true, source: false, compiled: false, editor: false } })\n"
	"\t\t.then(() => figure.querySelector('.static').remove())\n"
	"\t\t.catch((error) => { chart.remove(); console.error(error); });\n"
	"}\n";

void page_begin(struct strbuf *out, const char *title)
{
	strbuf_add(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	markup_add(out, title);
	strbuf_add(out, "</title>\n<style>\n");
	strbuf_add(out, style);
	strbuf_add(out, "</style>\n</head>\n<body>\n<main>\n<h1>");
	markup_add(out, title);
	strbuf_add(out, "</h1>\n");
}

void page_section(struct strbuf *out, const char *heading)
{
	strbuf_add(out, "<h2>");
	markup_add(out, heading);
	strbuf_add(out, "</h2>\n");
}

void page_file(struct strbuf *out, const char *name)
{
	strbuf_add(out, "<h2 class=\"file\">");
	markup_add(out, name);
	strbuf_add(out, "</h2>\n");
}

void page_findings(struct strbuf *out, const char *sentences)
{
	AUTO_FREE char *copy = strdup(sentences);
	if (!copy) {
		out->failed = true;
		return;
	}
	char *rest = NULL;
	const char *sentence = strtok_r(copy, "\n", &rest);
	strbuf_add(out, "<p class=\"answer\">");
	markup_add(out, sentence ? sentence : "");
	strbuf_add(out, "</p>\n<ul>\n");
	while ((sentence = strtok_r(NULL, "\n", &rest))) {
		strbuf_add(out, "<li>");
		markup_add(out, sentence);
		strbuf_add(out, "</li>\n");
	}
	strbuf_add(out, "</ul>\n");
}

void page_figure(struct strbuf *out, const struct figure *figure)
{
	strbuf_add(out, "<figure>\n<h3>");
	markup_add(out, figure->title ? figure->title : "");
	strbuf_add(out, "</h3>\n");
	figure_legend_html(out, figure);
	strbuf_add(out, "<div class=\"static\">\n");
	figure_svg(out, figure, 1, true);
	strbuf_add(out, "</div>\n");
	if (report_has_charts()) {
		strbuf_add(out, "<script type=\"application/json\">");
		json_add_in_script(out, figure_vega(figure));
		strbuf_add(out, "</script>\n");
	}
	strbuf_add(out, "</figure>\n");
}

/* A number and its unit stay on one line. */
static void add_cell(struct strbuf *out, const char *text)
{
	AUTO_RELEASE(strbuf) struct strbuf kept = { 0 };
	for (const char *c = text; *c; c++) {
		bool is_joint = *c == ' ' && c > text && isdigit((unsigned char)c[-1]) &&
				(isalpha((unsigned char)c[1]) || (unsigned char)c[1] > 127);
		strbuf_add_bytes(&kept, is_joint ? "\u00a0" : c, is_joint ? strlen("\u00a0") : 1);
	}
	strbuf_add(&kept, "");
	if (strbuf_failed(&kept) < 0)
		out->failed = true;
	else
		markup_add(out, kept.text);
}

static void add_cells(struct strbuf *out, const char *const *cells, size_t count, bool is_head)
{
	for (size_t i = 0; i < count; i++) {
		bool is_heading = is_head || i == 0;
		strbuf_addf(out, "<%s>",
			is_heading ? is_head ? "th scope=\"col\"" : "th scope=\"row\"" : "td");
		add_cell(out, cells[i]);
		strbuf_add(out, is_heading ? "</th>" : "</td>");
	}
}

static void begin_table(
	struct strbuf *out, const char *attributes, const char *const *heads, size_t count)
{
	strbuf_addf(out, "<div class=\"wide\"><table%s>\n<thead><tr>", attributes);
	add_cells(out, heads, count, true);
	strbuf_add(out, "</tr></thead>\n<tbody>\n");
}

void page_table_begin(struct strbuf *out, const char *const *heads, size_t count)
{
	begin_table(out, "", heads, count);
}

void page_words_table_begin(struct strbuf *out, const char *const *heads, size_t count)
{
	begin_table(out, " class=\"words\"", heads, count);
}

void page_table_row(struct strbuf *out, const char *const *cells, size_t count)
{
	strbuf_add(out, "<tr>");
	add_cells(out, cells, count, false);
	strbuf_add(out, "</tr>\n");
}

void page_table_end(struct strbuf *out)
{
	strbuf_add(out, "</tbody>\n</table></div>\n");
}

void page_list(struct strbuf *out, const char *const *items, size_t count)
{
	strbuf_add(out, "<ul>\n");
	for (size_t i = 0; i < count; i++) {
		strbuf_add(out, "<li>");
		markup_add(out, items[i]);
		strbuf_add(out, "</li>\n");
	}
	strbuf_add(out, "</ul>\n");
}

bool report_has_charts(void)
{
	return charts_js_bytes > 0;
}

void page_end(struct strbuf *out, const char *footer)
{
	strbuf_add(out, "</main>\n<footer>");
	markup_add(out, footer);
	if (!report_has_charts()) {
		strbuf_add(out,
			" This corecast was built without Vega-Lite, so the figures are static; "
			"for interactive ones, ");
		markup_add(out, "install npm, then: meson configure build -Dhtml=auto; rm -f "
				"build/src/report/charts.js; ninja -C build.");
	}
	strbuf_add(out, "</footer>\n");
	if (report_has_charts()) {
		strbuf_add(out, "<script>\n");
		strbuf_add_bytes(out, charts_js, charts_js_bytes);
		strbuf_addf(out, "</script>\n<script>\n%s</script>\n", draw);
	}
	strbuf_add(out, "</body>\n</html>\n");
}
