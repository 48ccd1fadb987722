/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model as YAML, in the order and the words of docs/formats/model.md. */
#include "model/value.h"

#include <inttypes.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { LINE_COLUMNS = 96 };

/* Plain scalars that other readers of YAML would not take as text. */
static bool is_reserved(const char *text)
{
	static const char *const words[] = { "true", "false", "yes", "no", "on", "off", "null", "y",
		"n" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasecmp(words[i], text) == 0)
			return true;
	return false;
}

static bool is_plain(const char *text)
{
	char first = *text;
	if (!((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_'))
		return false;
	for (const char *at = text; *at; at++) {
		bool is_word = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
			       (*at >= '0' && *at <= '9');
		bool is_inner = *at == ' ' || *at == ':';
		if (!is_word && !strchr("_./@+-*() :", *at))
			return false;
		if (is_inner && (at[1] == '\0' || at[1] == ' '))
			return false;
	}
	return !is_reserved(text);
}

static void write_text(FILE *out, const char *text)
{
	if (is_plain(text)) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (const char *at = text; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', out);
		fputc(*at, out);
	}
	fputc('"', out);
}

static void write_value(FILE *out, const struct model_value *value, enum model_unit unit)
{
	char text[MODEL_FORMAT_BYTES];
	if (value->formula) {
		fputs(value->formula, out);
		return;
	}
	model_format(value->value, unit, text);
	fputs(text, out);
}

static bool is_given(const struct model_value *value)
{
	return value->formula || value->value != 0;
}

/* "KEY: VALUE" at `indent`, unless it is the default, 0. */
static void write_field(FILE *out, int indent, const char *key, const struct model_value *value,
	enum model_unit unit)
{
	if (!is_given(value))
		return;
	fprintf(out, "%*s%s: ", indent, "", key);
	write_value(out, value, unit);
	fputc('\n', out);
}

/* "[1 us, 2 us, ...]" over as many lines as it needs, the first one being at `column`. */
static void write_times(FILE *out, int indent, int column, const double *times, size_t count)
{
	fputc('[', out);
	for (size_t i = 0; i < count; i++) {
		char text[MODEL_FORMAT_BYTES];
		model_format(times[i], MODEL_TIME, text);
		int width = (int)strlen(text) + 2;
		if (i && column + width > LINE_COLUMNS) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		}
		fprintf(out, "%s%s%s", i && column > indent ? " " : "", text,
			i + 1 == count ? "" : ",");
		column += width;
	}
	fputc(']', out);
}

/* The distribution, after "KEY:"; ends the line. */
static void write_dist(FILE *out, int indent, int column, const struct model_dist *dist)
{
	if (is_given(&dist->scale)) {
		struct model_dist plain = *dist;
		plain.scale = (struct model_value){ 0 };
		fprintf(out, "\n%*stime:", indent + 2, "");
		write_dist(out, indent + 2, indent + 7, &plain);
		write_field(out, indent + 2, "scale", &dist->scale, MODEL_NUMBER);
		return;
	}
	fputc(' ', out);
	switch (dist->kind) {
	case MODEL_NO_TIME:
		fputs("0 s", out);
		break;
	case MODEL_FIXED:
		write_value(out, &dist->a, MODEL_TIME);
		break;
	case MODEL_UNIFORM:
		fputs("uniform ", out);
		write_value(out, &dist->a, MODEL_TIME);
		fputs(" to ", out);
		write_value(out, &dist->b, MODEL_TIME);
		break;
	case MODEL_EXPONENTIAL:
		fputs("exponential ", out);
		write_value(out, &dist->a, MODEL_TIME);
		break;
	case MODEL_ERLANG:
		fputs("erlang ", out);
		write_value(out, &dist->b, MODEL_NUMBER);
		fputs(" of ", out);
		write_value(out, &dist->a, MODEL_TIME);
		break;
	case MODEL_QUANTILES:
		write_times(out, indent + 2, column + 2, dist->quantiles, dist->quantile_count);
		break;
	}
	fputc('\n', out);
}

static void write_dist_field(FILE *out, int indent, const char *key, const struct model_dist *dist)
{
	if (dist->kind == MODEL_NO_TIME)
		return;
	int width = fprintf(out, "%*s%s:", indent, "", key);
	write_dist(out, indent, width, dist);
}

static void write_count(FILE *out, int indent, const char *key, const struct model_count *count)
{
	fprintf(out, "%*s%s: ", indent, "", key);
	if (!count->entry_count) {
		write_value(out, &count->value, MODEL_NUMBER);
		fputc('\n', out);
		return;
	}
	fputs("{ ", out);
	for (uint32_t i = 0; i < count->entry_count; i++)
		fprintf(out, "%s%llu: %.6g", i ? ", " : "",
			(unsigned long long)count->entries[i].count, count->entries[i].probability);
	fputs(" }\n", out);
}

static void write_name_field(FILE *out, int indent, const char *key, const char *name)
{
	fprintf(out, "%*s%s: ", indent, "", key);
	write_text(out, name);
	fputc('\n', out);
}

static void write_parameters(FILE *out, const struct model *model)
{
	if (model->parameter_count)
		fputs("\nparameters:\n", out);
	for (size_t i = 0; i < model->parameter_count; i++) {
		const struct model_parameter *parameter = &model->parameters[i];
		char text[MODEL_FORMAT_BYTES];
		model_format(parameter->value, parameter->unit, text);
		if (!parameter->note) {
			fprintf(out, "  %s: %s\n", parameter->name, text);
			continue;
		}
		fprintf(out, "  %s: { value: %s, note: ", parameter->name, text);
		write_text(out, parameter->note);
		fputs(" }\n", out);
	}
}

static void write_hardware(FILE *out, const struct model_hardware *hardware)
{
	fputs("\nhardware:\n  cores: ", out);
	write_value(out, &hardware->cores, MODEL_NUMBER);
	fputc('\n', out);
	if (hardware->speed_count)
		fputs("  speeds: [", out);
	for (uint32_t i = 0; i < hardware->speed_count; i++)
		fprintf(out, "%.6g%s", hardware->speeds[i],
			i + 1 == hardware->speed_count ? "]\n" : ", ");
	if (hardware->threads_per_core) {
		fprintf(out, "  smt: { threads: %u", hardware->threads_per_core);
		if (hardware->smt_factor != 0)
			fprintf(out, ", factor: %.6g", hardware->smt_factor);
		fputs(" }\n", out);
	}
	if (hardware->is_round_robin)
		fputs("  scheduler: round_robin\n", out);
	write_dist_field(out, 2, "quantum", &hardware->quantum);
	write_field(out, 2, "switch", &hardware->switch_time, MODEL_TIME);
	write_dist_field(out, 2, "wake", &hardware->wake);
	write_field(out, 2, "wake_cost", &hardware->wake_cost, MODEL_TIME);
	write_field(out, 2, "doze", &hardware->doze_time, MODEL_TIME);
}

static void write_object(FILE *out, const struct model *model, const struct model_object *object)
{
	const char *size_word = model_size_word(object->kind);
	bool has_fields = is_given(&object->size) || is_given(&object->initial) ||
			  is_given(&object->instances) || object->has_writers_first ||
			  object->lends || object->are_signals || object->are_calls ||
			  object->are_replies || object->order != SIM_DISK_FIFO ||
			  object->class_count || object->share_count || object->recorded.is_known;
	fputs("  ", out);
	write_text(out, object->name);
	fputs(has_fields ? ":\n" : ": {}\n", out);
	if (size_word)
		write_field(out, 4, size_word, &object->size, MODEL_NUMBER);
	if (object->share_count)
		fputs("    shares: [", out);
	for (uint32_t i = 0; i < object->share_count; i++)
		fprintf(out, "%.4g%%%s", 100 * object->shares[i],
			i + 1 == object->share_count ? "]\n" : ", ");
	write_field(out, 4, "initial", &object->initial, MODEL_NUMBER);
	write_field(out, 4, "instances", &object->instances, MODEL_NUMBER);
	if (object->refilled_by != MODEL_NONE) {
		fputs("    refilled_by: ", out);
		write_text(out, model->objects[object->refilled_by].name);
		fputc('\n', out);
	}
	write_field(out, 4, "spins", &object->spins, MODEL_TIME);
	if (object->lends)
		fputs(object->lends_any ? "    lends: any\n" : "    lends: true\n", out);
	if (object->are_signals)
		fputs("    signals: true\n", out);
	if (object->are_calls)
		fputs("    calls: true\n", out);
	if (object->are_replies)
		fputs("    replies: true\n", out);
	if (object->has_writers_first)
		fputs("    writers_first: true\n", out);
	if (object->order != SIM_DISK_FIFO)
		fprintf(out, "    order: %s\n", model_disk_orders[object->order]);
	write_field(out, 4, "latency", &object->latency, MODEL_TIME);
	if (object->class_count)
		fputs("    classes:\n", out);
	for (uint32_t i = 0; i < object->class_count; i++) {
		fputs("      ", out);
		write_text(out, object->classes[i].name);
		fputc(':', out);
		write_dist(out, 6, 7 + (int)strlen(object->classes[i].name),
			&object->classes[i].service);
	}
	if (object->recorded.is_known)
		fprintf(out, "    recorded: { waited: %.4g%%, busy: %.4g%% }\n",
			100 * object->recorded.waited_share, 100 * object->recorded.busy_share);
}

static void write_objects(FILE *out, const struct model *model)
{
	for (int kind = 0; kind < MODEL_OBJECT_KINDS; kind++) {
		bool is_first = true;
		for (size_t i = 0; i < model->object_count; i++) {
			if ((int)model->objects[i].kind != kind)
				continue;
			if (is_first)
				fprintf(out, "\n%s:\n",
					model_object_section((enum model_object_kind)kind));
			is_first = false;
			write_object(out, model, &model->objects[i]);
		}
	}
}

static void write_source(FILE *out, const struct model *model, const struct model_source *source)
{
	fputs("  ", out);
	write_text(out, source->name);
	fputs(":\n", out);
	switch (source->kind) {
	case MODEL_POISSON:
		write_field(out, 4, "poisson", &source->rate, MODEL_RATE);
		break;
	case MODEL_INTERVALS:
		write_dist_field(out, 4, "every", &source->interval);
		break;
	case MODEL_CLOSED:
		write_field(out, 4, "clients", &source->clients, MODEL_NUMBER);
		write_dist_field(out, 4, "think", &source->interval);
		break;
	case MODEL_ARRIVALS: {
		int width = fprintf(out, "    arrivals: ");
		write_times(out, 6, width, source->times, source->time_count);
		fputc('\n', out);
		break;
	}
	case MODEL_BATCH:
		write_field(out, 4, "batch", &source->requests, MODEL_NUMBER);
		break;
	}
	if (source->kind != MODEL_BATCH)
		write_field(out, 4, "requests", &source->requests, MODEL_NUMBER);
	write_name_field(out, 4, "queue", model->objects[source->queue].name);
	if (source->limit != MODEL_NONE)
		write_name_field(out, 4, "limit", model->objects[source->limit].name);
	if (source->does_wait_for_room)
		fputs("    full: wait\n", out);
}

static const char *target_name(const struct model_group *group, uint32_t to)
{
	if (to == MODEL_EXIT)
		return "exit";
	return to == MODEL_STOP ? "stop" : group->fragments[to].name;
}

static void write_edges(
	FILE *out, const struct model_group *group, const struct model_fragment *fragment)
{
	if (fragment->edge_count <= 1) {
		write_name_field(out, 8, "next",
			fragment->edge_count ? target_name(group, fragment->edges[0].to) : "exit");
		return;
	}
	int column = fprintf(out, "        next: {");
	for (uint32_t i = 0; i < fragment->edge_count; i++) {
		const char *name = target_name(group, fragment->edges[i].to);
		int width = (int)strlen(name) + 12;
		bool breaks = i && column + width > LINE_COLUMNS;
		if (i)
			fputc(',', out);
		if (breaks)
			fprintf(out, "\n%*s", 13, "");
		column = breaks ? 13 + width : column + width;
		fputc(' ', out);
		write_text(out, name);
		fputs(": ", out);
		if (fragment->edges[i].probability.formula)
			fputs(fragment->edges[i].probability.formula, out);
		else
			fprintf(out, "%.6g", fragment->edges[i].probability.value);
	}
	fputs(" }\n", out);
}

static void write_order(FILE *out, const struct model_fragment *fragment)
{
	enum { LINE = 12 }; /* items */
	for (uint32_t i = 0; i < fragment->order_count; i++) {
		const struct model_turn *turn = &fragment->order[i];
		fputs(i == 0 ? "        order: [" : i % LINE == 0 ? ",\n          " : ", ", out);
		if (turn->times != 1)
			fprintf(out, "%" PRIu32 " x ", turn->times);
		fprintf(out, "%" PRIu32, turn->which + 1);
	}
	if (fragment->order_count > 0)
		fputs("]\n", out);
}

static void write_draws(
	FILE *out, const struct model_group *group, const struct model_fragment *fragment)
{
	if (is_given(&fragment->draws))
		write_field(out, 8, "draws", &fragment->draws, MODEL_NUMBER);
	if (fragment->is_together)
		fputs("        together: true\n", out);
	write_order(out, fragment);
	if (fragment->last != MODEL_NONE)
		write_name_field(
			out, 8, "last", target_name(group, fragment->edges[fragment->last].to));
}

static void write_turns(FILE *out, const struct model_fragment *fragment)
{
	fputs("        times: taken", out);
	if (fragment->less > 0)
		fprintf(out, " - %u", fragment->less);
	fputc('\n', out);
}

/* The operation's own line and those that belong to it. */
static void write_operation(FILE *out, const struct model *model, const struct model_group *group,
	const struct model_fragment *fragment)
{
	const char *word = model_op_word(fragment->op);
	bool has_times = fragment->count.entry_count || is_given(&fragment->count.value);
	switch (fragment->op) {
	case MODEL_COMPUTE:
		return;
	case MODEL_SLEEP:
		write_dist_field(out, 8, word, &fragment->time);
		if (fragment->is_paced)
			fputs("        paced: true\n", out);
		return;
	case MODEL_BEGIN:
	case MODEL_END:
	case MODEL_FAIL:
	case MODEL_YIELD:
	case MODEL_TICK:
		write_name_field(out, 8, "do", word);
		break;
	case MODEL_LOOP:
		write_name_field(out, 8, word, target_name(group, fragment->body));
		has_times = true;
		break;
	case MODEL_SPAWN:
	case MODEL_JOIN:
		write_name_field(out, 8, word, model->groups[fragment->object].name);
		break;
	default:
		write_name_field(out, 8, word, model->objects[fragment->object].name);
	}
	if (fragment->op == MODEL_WAIT) {
		write_name_field(out, 8, "mutex", model->objects[fragment->other].name);
		write_dist_field(out, 8, "timeout", &fragment->time);
	} else if (fragment->op == MODEL_IO) {
		const struct model_object *disk = &model->objects[fragment->object];
		write_name_field(out, 8, "class", disk->classes[fragment->other].name);
		write_count(out, 8, "requests", &fragment->count);
		if (fragment->is_background)
			fputs("        background: true\n", out);
	} else if (fragment->is_plain) {
		fputs(fragment->is_for_all ? "        plain: true\n        times: waiting\n"
					   : "        plain: true\n",
			out);
	} else if (fragment->hands_on) {
		fputs("        with_request: true\n", out);
	}
	if (fragment->takes_all)
		fputs("        up_to: all\n", out);
	else if (is_given(&fragment->up_to))
		write_field(out, 8, "up_to", &fragment->up_to, MODEL_NUMBER);
	if (fragment->by_taken)
		write_turns(out, fragment);
	else if (has_times && fragment->op != MODEL_IO && !fragment->is_for_all)
		write_count(out, 8, "times", &fragment->count);
}

static void write_course(FILE *out, const struct model_course *course)
{
	enum { IN_LINE = 12 };
	if (course->factor_count == 0)
		return;
	fputs("        course:\n          factors: [", out);
	for (uint32_t i = 0; i < course->factor_count; i++) {
		const char *gap = i == 0 ? "" : i % IN_LINE == 0 ? ",\n            " : ", ";
		fprintf(out, "%s%.4g", gap, course->factors[i]);
	}
	fputs("]\n", out);
	write_field(out, 10, "threads", &course->threads, MODEL_NUMBER);
}

static void write_group(FILE *out, const struct model *model, const struct model_group *group)
{
	fputs("  ", out);
	write_text(out, group->name);
	fputs(":\n", out);
	write_field(out, 4, "count", &group->count, MODEL_NUMBER);
	if (group->start)
		write_name_field(out, 4, "start", group->fragments[group->start].name);
	for (uint32_t i = 0; i < group->core_count; i++)
		fprintf(out, "%s%u%s", i ? ", " : "    cores: [", group->cores[i],
			i + 1 == group->core_count ? "]\n" : "");
	fputs("    fragments:\n", out);
	for (uint32_t i = 0; i < group->fragment_count; i++) {
		const struct model_fragment *fragment = &group->fragments[i];
		fputs("      ", out);
		write_text(out, fragment->name);
		fputs(":\n", out);
		write_dist_field(out, 8, "cpu", &fragment->cpu);
		write_field(out, 8, "visits", &fragment->visits, MODEL_NUMBER);
		write_course(out, &fragment->course);
		write_operation(out, model, group, fragment);
		if (fragment->otherwise != MODEL_NONE)
			write_name_field(out, 8, "else", target_name(group, fragment->otherwise));
		if (fragment->part != MODEL_NONE)
			write_name_field(out, 8, "part", model->parts[fragment->part]);
		write_edges(out, group, fragment);
		write_draws(out, group, fragment);
	}
}

static void write_recorded(FILE *out, const struct model_recorded *recorded)
{
	if (!recorded->is_known)
		return;
	fputs("\nrecorded:\n", out);
	if (recorded->program)
		write_name_field(out, 2, "program", recorded->program);
	const struct {
		const char *key;
		double value;
		enum model_unit unit;
	} fields[] = {
		{ "duration", recorded->duration_s, MODEL_TIME },
		{ "cores", recorded->cores, MODEL_NUMBER },
		{ "throughput", recorded->throughput_per_s, MODEL_RATE },
		{ "response", recorded->response_s, MODEL_TIME },
		{ "descriptors", recorded->descriptors, MODEL_NUMBER },
	};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (fields[i].value > 0)
			write_field(out, 2, fields[i].key,
				&(struct model_value){ .value = fields[i].value }, fields[i].unit);
	if (recorded->core_utilisation > 0)
		fprintf(out, "  utilisation: %.4g%%\n", 100 * recorded->core_utilisation);
	if (recorded->note_count)
		fputs("  notes:\n", out);
	for (size_t i = 0; i < recorded->note_count; i++) {
		fputs("    - ", out);
		write_text(out, recorded->notes[i]);
		fputc('\n', out);
	}
}

int model_write(const struct model *model, FILE *out, struct err *err)
{
	fputs("corecast_model: 1\n", out);
	if (model->name)
		write_name_field(out, 0, "name", model->name);
	write_field(out, 0, "duration", &model->duration, MODEL_TIME);
	write_field(out, 0, "way", &model->way, MODEL_TIME);
	write_parameters(out, model);
	write_hardware(out, &model->hardware);
	write_objects(out, model);
	if (model->source_count)
		fputs("\nsources:\n", out);
	for (size_t i = 0; i < model->source_count; i++)
		write_source(out, model, &model->sources[i]);
	fputs("\nthreads:\n", out);
	for (size_t i = 0; i < model->group_count; i++)
		write_group(out, model, &model->groups[i]);
	write_recorded(out, &model->recorded);
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	/* Writing on after a failure has failed again, so that the reason is still there. */
	return err_set(err, -EIO, "%s", strerror(errno));
}
