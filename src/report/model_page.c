/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model as a page that needs no other file. */
#include "report/model_graph.h"

#include "base/cleanup.h"
#include "report/page.h"
#include "report/quantity.h"

#include <math.h>
#include <stdio.h>

static void add_row(struct strbuf *out, const char *what, double measured, double simulated,
	enum quantity quantity)
{
	if (!(measured > 0))
		return;
	struct quantity_text a = quantity_format(quantity, measured);
	struct quantity_text b = quantity_format(quantity, simulated);
	char error[32];
	(void)snprintf(error, sizeof error, "%.1f%%",
		100 * model_fit_error(measured, simulated)); /* has room for any double of it */
	const char *cells[] = { what, a.text, b.text, error };
	page_table_row(out, cells, 4);
}

static void add_fit(struct strbuf *out, const struct model_fit *fit)
{
	static const char *const heads[] = { "at the setting of the run", "recorded", "simulated",
		"error" };
	if (!fit || !fit->is_known)
		return;
	page_section(out, "How well it reproduces its run");
	page_table_begin(out, heads, 4);
	add_row(out, "time", fit->is_open ? 0 : fit->measured_s, fit->simulated_s, QUANTITY_TIME);
	add_row(out, "CPU time", fit->measured_cpu_s, fit->simulated_cpu_s, QUANTITY_TIME);
	add_row(out, "throughput", fit->measured_per_s, fit->simulated_per_s, QUANTITY_RATE);
	add_row(out, "response", fit->measured_response_s, fit->simulated_response_s,
		QUANTITY_TIME);
	page_table_end(out);
}

static void add_parameters(struct strbuf *out, const struct model *model)
{
	static const char *const heads[] = { "parameter", "value", "what it is" };
	if (model->parameter_count == 0)
		return;
	page_section(out, "What can be set");
	page_words_table_begin(out, heads, 3);
	for (size_t i = 0; i < model->parameter_count; i++) {
		const struct model_parameter *p = &model->parameters[i];
		char value[MODEL_FORMAT_BYTES];
		model_format(p->value, p->unit, value);
		const char *cells[] = { p->name, value, p->note ? p->note : "" };
		page_table_row(out, cells, 3);
	}
	page_table_end(out);
}

void report_model_html(struct strbuf *out, const struct model_report *report)
{
	const struct model *model = report->model;
	page_begin(out, report->subject);
	add_fit(out, report->fit);
	add_parameters(out, model);
	page_section(out, "Threads, and where they meet");
	strbuf_add(out, "<div class=\"static\">\n");
	model_add_drawing(out, report);
	strbuf_add(out, "</div>\n");
	if (model->recorded.note_count > 0) {
		page_section(out, "Notes");
		page_list(out, model->recorded.notes, model->recorded.note_count);
	}
	page_end(out, "corecast " CORECAST_VERSION ".");
}
