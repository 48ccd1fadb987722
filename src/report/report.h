/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forecasts for people and for tools. Every function appends to a string; the caller checks once
 * and writes it where it belongs:
 *
 *	AUTO_RELEASE(strbuf) struct strbuf page = { 0 };
 *	report_forecast_html(&page, forecast, "runs.csv");
 *	int code = report_save(&page, "page.html", err);
 *
 * Nothing here computes a prediction, opens a file, or asks about terminal, locale or environment.
 * `subject` is what was measured, as titles and sentences call it (a file's or a program's name).
 * Names, titles and notes may hold any bytes: each output cleans and escapes them. Numbers are
 * printed with the program's LC_NUMERIC, which must stay "C".
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/err.h"
#include "base/strbuf.h"
#include "report/text.h"
#include "scaling/forecast.h"

#include <stdio.h>

/*
 * Two forecasts of one metric side by side. Speeds are compared: how many times as fast b is as a,
 * a's time over b's or b's throughput over a's.
 */
struct comparison {
	const struct forecast *a, *b; /* borrowed */
	const char *label_a, *label_b; /* borrowed */
	uint32_t crossing; /* first count at which the other one is the faster; 0: none */
};

/* The answer in a sentence, a plot, a table, what limits it, notes. */
void report_forecast_text(
	struct strbuf *out, const struct forecast *forecast, const struct text_style *style);
void report_comparison_text(
	struct strbuf *out, const struct comparison *comparison, const struct text_style *style);

/* docs/formats/forecast.json.md; ends with a line break. */
void report_forecast_json(struct strbuf *out, const struct forecast *forecast);
void report_comparison_json(struct strbuf *out, const struct comparison *comparison);

/* threads,value,low,high,measured: a row for each count, empty where there is no number. */
void report_forecast_csv(struct strbuf *out, const struct forecast *forecast);

/* A document that stands alone: the forecast, and its stalls if it has some. */
void report_forecast_svg(struct strbuf *out, const struct forecast *forecast, const char *subject);
void report_comparison_svg(struct strbuf *out, const struct comparison *comparison);

/*
 * A page that needs no other file and no network: findings, figures, table, stalls, notes. The
 * figures are SVG; where this build has Vega-Lite (report_has_charts()), a browser that runs scripts
 * makes them interactive. Without, the page says how to get that, and lacks nothing else.
 */
void report_forecast_html(struct strbuf *out, const struct forecast *forecast, const char *subject);
void report_comparison_html(struct strbuf *out, const struct comparison *comparison);

/* The same as findings, each ended by a line break, and as sections of another page (page.h). */
void forecast_add_findings(struct strbuf *out, const struct forecast *forecast);
void forecast_add_sections(
	struct strbuf *out, const struct forecast *forecast, const char *subject);

/* Whether this build bundles Vega-Lite. */
bool report_has_charts(void);

/* 0; -ENOMEM if the string is not whole, or a write's -errno. */
int report_write(const struct strbuf *report, FILE *file, struct err *err);

/* The same to a file that appears whole or not at all (outfile.h); "-" is stdout. */
int report_save(const struct strbuf *report, const char *path, struct err *err);

#endif
