/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A model drawn: threads on the left and what they meet at on the right, with a line where they do; below, the fragments of each group in a column, and arcs from each to where it leads, as
 * thick as it is probable.
 */
#include "report/model_graph.h"

#include "base/cleanup.h"
#include "report/markup.h"
#include "report/palette.h"

#include <math.h>

/* Those before yellow, which is too faint for lines. */
enum { LINE_COLOURS = 6 };

enum {
	WIDTH = 860,
	ROW = 26,
	BOX = 20,
	LEFT = 20,
	GROUP_WIDTH = 240,
	RIGHT = 560,
	OBJECT_WIDTH = 280,
	COLUMN_WIDTH = 560,
	FRAGMENTS_SHOWN = 60,
};

static void add_box(struct strbuf *out, double x, double y, double width, const char *text,
	unsigned slot, bool is_round)
{
	AUTO_RELEASE(strbuf) struct strbuf shown = { 0 };
	text_add_cut(&shown, text, (size_t)(width / 7.2));
	strbuf_addf(out,
		"<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%d\" rx=\"%d\" fill=\"%s\" "
		"fill-opacity=\".15\" stroke=\"%s\"/><text x=\"%.0f\" y=\"%.0f\">",
		x, y, width, BOX, is_round ? BOX / 2 : 3, palette_slot(slot)->colour,
		palette_slot(slot)->colour, x + 8, y + BOX - 6);
	markup_add(out, shown.text ? shown.text : "");
	strbuf_add(out, "</text>\n");
}

/* What threads of a group do at an object, bit by bit of enum model_op; 0: nothing. */
static uint64_t operations(const struct model_group *group, uint32_t object)
{
	uint64_t found = 0;
	for (uint32_t i = 0; i < group->fragment_count; i++) {
		const struct model_fragment *f = &group->fragments[i];
		if (f->object == object && f->op != MODEL_SPAWN && f->op != MODEL_JOIN)
			found |= UINT64_C(1) << f->op;
	}
	return found;
}

static void add_link(struct strbuf *out, double y_from, double y_to, unsigned slot)
{
	double from = LEFT + GROUP_WIDTH, to = RIGHT, middle = (from + to) / 2;
	strbuf_addf(out,
		"<path d=\"M%.0f %.1fC%.0f %.1f %.0f %.1f %.0f %.1f\" fill=\"none\" stroke=\"%s\" "
		"stroke-dasharray=\"%s\"/>\n",
		from, y_from, middle, y_from, middle, y_to, to, y_to, palette_slot(slot)->colour,
		palette_slot(slot)->dash);
}

/* "forces (put, get)" */
static void add_object(struct strbuf *out, const struct model_object *object,
	uint64_t operations_of, double y, unsigned slot)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	const char *separator = " (";
	strbuf_add(&text, object->name);
	for (int op = 0; op < MODEL_OPS; op++) {
		if (!(operations_of >> op & 1))
			continue;
		strbuf_addf(&text, "%s%s", separator, model_op_word((enum model_op)op));
		separator = ", ";
	}
	strbuf_add(&text, operations_of ? ")" : "");
	add_box(out, RIGHT, y, OBJECT_WIDTH, text.text ? text.text : "", slot, false);
}

static double add_meeting_places(struct strbuf *out, const struct model *model, double top)
{
	for (size_t i = 0; i < model->group_count; i++)
		add_box(out, LEFT, top + (double)i * ROW, GROUP_WIDTH, model->groups[i].name, 0,
			true);
	for (uint32_t j = 0; j < model->object_count; j++) {
		double y = top + j * ROW;
		unsigned slot = (unsigned)model->objects[j].kind % LINE_COLOURS;
		uint64_t all = 0;
		for (size_t i = 0; i < model->group_count; i++) {
			uint64_t found = operations(&model->groups[i], j);
			all |= found;
			if (found)
				add_link(out, top + (double)i * ROW + BOX / 2.0, y + BOX / 2.0,
					slot);
		}
		add_object(out, &model->objects[j], all, y, slot);
	}
	size_t rows =
		model->group_count > model->object_count ? model->group_count : model->object_count;
	return top + (double)rows * ROW;
}

/* To the next row: a short line; elsewhere: an arc on the right, the wider the farther it goes. */
static void add_edge(struct strbuf *out, double top, uint32_t from, uint32_t to, double probability)
{
	double width = 0.6 + 1.8 * (probability > 0 && probability <= 1 ? probability : 0);
	double y_from = top + from * ROW + BOX / 2.0, y_to = top + to * ROW + BOX / 2.0;
	if (to == from + 1) {
		strbuf_addf(out,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"currentColor\" "
			"stroke-width=\"%.2f\"/>\n",
			LEFT + 30, y_from + BOX / 2.0, LEFT + 30, y_to - BOX / 2.0, width);
		return;
	}
	double apart = fabs(y_to - y_from), x = LEFT + COLUMN_WIDTH;
	double reach = x + 20 + (apart < 400 ? apart / 2 : 200);
	strbuf_addf(out,
		"<path d=\"M%.0f %.1fC%.0f %.1f %.0f %.1f %.0f %.1f\" fill=\"none\" "
		"stroke=\"%s\" stroke-width=\"%.2f\"/><circle cx=\"%.0f\" cy=\"%.1f\" r=\"2.5\" "
		"fill=\"%s\"/>\n",
		x, y_from, reach, y_from, reach, y_to, x, y_to,
		palette_slot(to < from ? 1 : 2)->colour, width, x, y_to,
		palette_slot(to < from ? 1 : 2)->colour);
}

static double add_group(
	struct strbuf *out, const struct model *model, const struct model_group *group, double top)
{
	uint32_t shown = group->fragment_count < FRAGMENTS_SHOWN ? group->fragment_count
								 : (uint32_t)FRAGMENTS_SHOWN;
	strbuf_addf(out, "<text class=\"title\" x=\"%d\" y=\"%.0f\">", LEFT, top + 16);
	markup_add(out, group->name);
	strbuf_add(out, "</text>\n");
	top += 2 * BOX + 4;
	for (uint32_t i = 0; i < shown; i++) {
		const struct model_fragment *f = &group->fragments[i];
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		strbuf_add(&text, f->name);
		model_add_costs(&text, model, f);
		add_box(out, LEFT, top + i * ROW, COLUMN_WIDTH, text.text ? text.text : "",
			i == group->start ? 3 : 0, false);
		for (uint32_t j = 0; j < f->edge_count; j++)
			if (f->edges[j].to < shown)
				add_edge(out, top, i, f->edges[j].to,
					model_edge_probability(model, &f->edges[j]));
		if (f->op == MODEL_LOOP && f->body < shown)
			add_edge(out, top, i, f->body, 1);
		if (f->otherwise < shown)
			add_edge(out, top, i, f->otherwise, 0);
	}
	top += shown * ROW;
	if (shown < group->fragment_count) {
		strbuf_addf(out, "<text class=\"note\" x=\"%d\" y=\"%.0f\">and %u more</text>\n",
			LEFT, top + 14, group->fragment_count - shown);
		top += ROW;
	}
	return top + BOX;
}

void model_add_drawing(struct strbuf *out, const struct model_report *report)
{
	const struct model *model = report->model;
	AUTO_RELEASE(strbuf) struct strbuf body = { 0 };
	double bottom = add_meeting_places(&body, model, 40) + BOX;
	for (size_t i = 0; i < model->group_count; i++)
		bottom = add_group(&body, model, &model->groups[i], bottom);
	strbuf_addf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
		"height=\"%.0f\" role=\"img\" class=\"figure\" color=\"#222\" "
		"fill=\"currentColor\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" "
		"font-size=\"12\">\n<title>",
		WIDTH, bottom, WIDTH, bottom);
	markup_add(out, report->subject);
	strbuf_add(out, ": threads, and where they meet</title>\n<style>.title{font-size:15px;"
			"font-weight:600}.note{font-size:11px}</style>\n");
	strbuf_addf(out, "<text class=\"title\" x=\"%d\" y=\"24\">Threads</text>", LEFT);
	strbuf_addf(out, "<text class=\"title\" x=\"%d\" y=\"24\">Where they meet</text>\n", RIGHT);
	if (strbuf_failed(&body) < 0)
		out->failed = true;
	strbuf_add(out, body.text ? body.text : "");
	strbuf_add(out, "</svg>\n");
}

void report_model_svg(struct strbuf *out, const struct model_report *report)
{
	model_add_drawing(out, report);
}
