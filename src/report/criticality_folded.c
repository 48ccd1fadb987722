/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blame as folded stacks, which draw flame graphs: a line for each stack, outermost function first,
 * then nanoseconds. Where there are no samples a stack is one line of code.
 */
#include "report/criticality_view.h"

#include "base/cleanup.h"
#include "report/criticality_code.h"

#include <inttypes.h>
#include <stdlib.h>

/* Functions of Rust may have semicolons, which end a function's name here. */
static void add_function(struct strbuf *out, const struct criticality_view *view,
	const struct code_finder *finder, uint32_t pid, uint64_t address)
{
	AUTO_RELEASE(strbuf) struct strbuf name = { 0 };
	criticality_add_function(&name, view->results, finder, pid, address);
	for (char *c = name.text; c && *c; c++)
		*c = *c == ';' ? ':' : *c;
	out->failed |= strbuf_failed(&name) < 0;
	strbuf_add(out, name.text ? name.text : "");
}

/* Callers in no known file are what a stack without frame pointers looks like: left out. */
static void add_callers(struct strbuf *out, const struct criticality_view *view,
	const struct code_finder *finder, const struct result_site *site, size_t above)
{
	if (site->stack == INDEX_NONE)
		return;
	const struct result_stack *stack = &view->results->stacks[site->stack];
	for (size_t i = stack->frame_count; i-- > above;) {
		/* Where a call returns to: the call lies before it. */
		uint64_t address = stack->frames[i] - 1;
		if (!results_module(view->results, site->pid, address))
			continue;
		add_function(out, view, finder, site->pid, address);
		strbuf_add(out, ";");
	}
}

static void release_labels(struct code_label *labels, size_t count)
{
	for (size_t i = 0; i < count; i++)
		code_label_release(&labels[i]);
	free(labels);
}

static void add_stacks(
	struct strbuf *out, const struct criticality_view *view, const struct code_finder *finder)
{
	const struct results *r = view->results;
	struct code_label *labels = calloc(r->site_count + 1, sizeof *labels);
	size_t count = 0;
	out->failed |= !labels;
	for (; count < r->site_count && !out->failed; count++) {
		struct strbuf text = { 0 };
		const struct result_site *site = &r->sites[count];
		size_t above = 0;
		uint64_t address = criticality_program_code(r, finder, site, &above);
		add_callers(&text, view, finder, site, above);
		if (address)
			add_function(&text, view, finder, site->pid, address);
		else
			strbuf_add(&text,
				site->address ? "(the recorder)" : "(threads never sampled)");
		out->failed |= strbuf_failed(&text) < 0;
		labels[count] =
			(struct code_label){ .text = text.text, .blame_ns = site->blame_ns };
	}
	size_t kept = out->failed ? count : code_labels_merge(labels, count);
	for (size_t i = 0; i < kept && !out->failed; i++) {
		text_add_clean(out, labels[i].text);
		strbuf_addf(out, " %" PRIu64 "\n", labels[i].blame_ns);
	}
	release_labels(labels, kept);
}

static void add_lines(struct strbuf *out, const struct criticality_view *view)
{
	for (size_t i = 0; i < view->site_count; i++) {
		text_add_clean(out, view->sites[i].text);
		strbuf_addf(out, " %" PRIu64 "\n", view->sites[i].blame_ns);
	}
}

void report_criticality_folded(struct strbuf *out, const struct criticality_input *input)
{
	struct criticality_view view;
	criticality_view_init(&view, input->results, input->subject, input->finder);
	if (view.failed)
		out->failed = true;
	else if (input->results->has_samples)
		add_stacks(out, &view, input->finder);
	else
		add_lines(out, &view);
	criticality_view_release(&view);
}
