/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/simulated.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Quoted where it has to be (RFC 4180). */
static void add_head(struct strbuf *out, const char *prefix, const char *name, const char *suffix)
{
	bool is_quoted = strpbrk(name, ",\"") != NULL;
	strbuf_addf(out, ",%s%s", is_quoted ? "\"" : "", prefix);
	for (const char *at = name; *at; at++)
		strbuf_addf(out, *at == '"' ? "\"%c" : "%c", *at);
	strbuf_addf(out, "%s%s", suffix, is_quoted ? "\"" : "");
}

/* Seventeen digits identify a double; nothing stands for no number. */
static void add_number(struct strbuf *out, double value)
{
	strbuf_add(out, ",");
	if (isfinite(value))
		strbuf_addf(out, "%.17g", value);
}

static const struct column {
	const char *head;
	size_t offset;
	bool has_interval;
} columns[] = {
#define COLUMN(field, has_interval)                                                                \
	{                                                                                          \
#field, offsetof(struct simulated_setting, field), has_interval                    \
	}
	COLUMN(response_s, true),
	COLUMN(p50_s, false),
	COLUMN(p90_s, false),
	COLUMN(p95_s, false),
	COLUMN(p99_s, true),
	COLUMN(throughput_per_s, true),
	COLUMN(errors_per_s, true),
	COLUMN(error_share, false),
	COLUMN(error_response_s, false),
	COLUMN(dropped_per_s, true),
	COLUMN(dropped_share, false),
	COLUMN(run_s, true),
	COLUMN(iteration_s, true),
	COLUMN(cores, true),
#undef COLUMN
};

static void add_heads(struct strbuf *out, const struct simulated *simulated)
{
	const struct model *model = simulated->model;
	strbuf_add(out, "setting");
	for (size_t i = 0; i < simulated->grid->axis_count; i++)
		add_head(out, "", model->parameters[simulated->grid->axes[i].parameter].name, "");
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		add_head(out, "", columns[i].head, "");
		if (columns[i].has_interval) {
			add_head(out, "", columns[i].head, "_low");
			add_head(out, "", columns[i].head, "_high");
		}
	}
	for (size_t i = 0; i < model->object_count; i++) {
		add_head(out, "utilisation:", model->objects[i].name, "");
		add_head(out, "length:", model->objects[i].name, "");
	}
	for (size_t i = 0; i < model->part_count; i++)
		add_head(out, "part:", model->parts[i], "");
	strbuf_add(out, ",error\n");
}

static void add_numbers(struct strbuf *out, const struct simulated *simulated,
	const struct simulated_setting *setting)
{
	static const struct estimate nothing = { NAN, NAN, NAN };
	bool is_done = setting->code == 0;
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		const struct estimate *estimate =
			(const void *)((const char *)setting + columns[i].offset);
		if (!is_done)
			estimate = &nothing;
		add_number(out, estimate->mean);
		if (columns[i].has_interval) {
			add_number(out, estimate->low);
			add_number(out, estimate->high);
		}
	}
	for (size_t i = 0; i < simulated->model->object_count; i++) {
		add_number(out, is_done ? setting->objects[i].utilisation.mean : NAN);
		add_number(out, is_done ? setting->objects[i].length.mean : NAN);
	}
	for (size_t i = 0; i < simulated->model->part_count; i++)
		add_number(out, is_done ? setting->parts[i].time_s.mean : NAN);
}

void report_simulated_csv(struct strbuf *out, const struct simulated *simulated)
{
	add_heads(out, simulated);
	for (size_t i = 0; i < simulated->count; i++) {
		const struct simulated_setting *setting = &simulated->settings[i];
		strbuf_addf(out, "%zu", i + 1);
		for (size_t k = 0; k < simulated->grid->axis_count; k++)
			add_number(out, grid_value(simulated->grid, k, i));
		add_numbers(out, simulated, setting);
		if (setting->code < 0)
			add_head(out, "", setting->code == -EINTR ? "interrupted" : setting->error,
				"");
		else
			strbuf_add(out, ",");
		strbuf_add(out, "\n");
	}
}
