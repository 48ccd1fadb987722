/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A forecast, or two compared, as a page. */
#include "report/forecast_view.h"

#include "base/cleanup.h"
#include "report/page.h"

#include <inttypes.h>
#include <stdio.h>

static void add_findings(struct strbuf *out, const struct strbuf *findings)
{
	if (strbuf_failed(findings) < 0)
		out->failed = true;
	else
		page_findings(out, findings->text);
}

static void add_table(struct strbuf *out, const struct forecast *f)
{
	page_table_begin(out, forecast_heads, FORECAST_COLUMNS);
	struct selection selection = selection_of(f);
	for (size_t i = 0; i < f->point_count; i++) {
		if (!selection_has(&selection, f->points[i].threads))
			continue;
		struct row row = forecast_row(f, &f->points[i]);
		const char *cells[FORECAST_COLUMNS];
		for (size_t k = 0; k < FORECAST_COLUMNS; k++)
			cells[k] = row.cells[k];
		page_table_row(out, cells, FORECAST_COLUMNS);
	}
	page_table_end(out);
}

/* Shares at the highest measured count and at the target. */
static void add_stalls(struct strbuf *out, const struct forecast *f)
{
	uint32_t target = (uint32_t)f->point_count;
	uint32_t now = f->measured_max > 0 && f->measured_max < target ? f->measured_max : target;
	char head_now[32], head_target[32];
	snprintf(head_now, sizeof head_now, "share at %" PRIu32, now);
	snprintf(head_target, sizeof head_target, "share at %" PRIu32, target);
	page_table_begin(out, (const char *const[]){ "category", head_now, head_target }, 3);
	for (size_t i = 0; i < f->stall_count; i++) {
		if (!forecast_has_stall(f, &f->stalls[i]))
			continue;
		char share_now[32], share[32];
		snprintf(share_now, sizeof share_now, "%.1f%%",
			100 * forecast_stall_share(f, &f->stalls[i], now));
		snprintf(share, sizeof share, "%.1f%%", 100 * f->stalls[i].share_at_target);
		page_table_row(
			out, (const char *const[]){ f->stalls[i].name, share_now, share }, 3);
	}
	page_table_end(out);
}

static void add_notes(struct strbuf *out, const char *heading, const struct forecast *f)
{
	if (f->note_count == 0)
		return;
	page_section(out, heading);
	page_list(out, (const char *const *)f->notes, f->note_count);
}

void forecast_add_findings(struct strbuf *out, const struct forecast *f)
{
	findings_forecast(out, f);
}

void forecast_add_sections(struct strbuf *out, const struct forecast *f, const char *subject)
{
	AUTO_RELEASE(figure) struct figure main = { 0 }, stalls = { 0 };
	page_section(out, "Forecast");
	figure_of_forecast(&main, f, subject);
	page_figure(out, &main);
	page_section(out, "Numbers");
	add_table(out, f);
	if (forecast_has_stalls(f)) {
		page_section(out, "What the threads wait for");
		figure_of_stalls(&stalls, f);
		page_figure(out, &stalls);
		add_stalls(out, f);
	}
	add_notes(out, "Data quality and notes", f);
}

void report_forecast_html(struct strbuf *out, const struct forecast *f, const char *subject)
{
	AUTO_RELEASE(strbuf) struct strbuf title = { 0 }, findings = { 0 }, footer = { 0 };
	strbuf_addf(&title, "%s with up to %zu threads", subject, f->point_count);
	page_begin(out, title.text ? title.text : "");
	findings_forecast(&findings, f);
	add_findings(out, &findings);
	forecast_add_sections(out, f, subject);
	strbuf_addf(&footer, "corecast %s, method %s.", CORECAST_VERSION, f->method);
	page_end(out, footer.text ? footer.text : "");
}

static void add_comparison_table(struct strbuf *out, const struct comparison *c)
{
	const char *const heads[FORECAST_COLUMNS] = { "threads", c->label_a, "90% interval",
		c->label_b, "90% interval", "speedup" };
	page_table_begin(out, heads, FORECAST_COLUMNS);
	struct selection a = selection_of(c->a), b = selection_of(c->b);
	for (uint32_t n = 1; n <= comparison_target(c); n++) {
		if (!selection_has(&a, n) && !selection_has(&b, n) && n != c->crossing)
			continue;
		struct row row = comparison_row(c, n);
		const char *cells[FORECAST_COLUMNS];
		for (size_t k = 0; k < FORECAST_COLUMNS; k++)
			cells[k] = row.cells[k];
		page_table_row(out, cells, FORECAST_COLUMNS);
	}
	page_table_end(out);
}

void report_comparison_html(struct strbuf *out, const struct comparison *c)
{
	AUTO_RELEASE(strbuf) struct strbuf title = { 0 }, findings = { 0 };
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	strbuf_addf(&title, "%s and %s", c->label_a, c->label_b);
	page_begin(out, title.text ? title.text : "");
	findings_comparison(&findings, c);
	add_findings(out, &findings);
	page_section(out, "Forecasts");
	figure_of_comparison(&figure, c);
	page_figure(out, &figure);
	page_section(out, "Numbers");
	add_comparison_table(out, c);
	add_notes(out, "Data quality and notes: the first", c->a);
	add_notes(out, "Data quality and notes: the second", c->b);
	page_end(out, "corecast " CORECAST_VERSION ".");
}
