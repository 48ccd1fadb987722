/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Model files: what is accepted passes its own check, is read back after it was written, and can be played: to an
 * end, or until it is refused for a reason.
 */
#include "fuzz.h"

#include "model/graph.h"
#include "model/sample.h"

#include <string.h>

static void check_model(const struct model *model)
{
	char *text = NULL;
	size_t size = 0;
	struct err err = { "" };
	FILE *out = open_memstream(&text, &size);
	fuzz_check(out != NULL);
	fuzz_check(model_check(model, &err) == 0);
	fuzz_check(model_write(model, out, &err) == 0);
	fuzz_check(fclose(out) == 0);
	FILE *in = fmemopen(text, size, "r");
	fuzz_check(in != NULL);
	AUTO(model) struct model *again = NULL;
	fuzz_check(model_read(in, "again", &again, &err) == 0);
	(void)fclose(in);
	fuzz_check(again->object_count == model->object_count);
	fuzz_check(again->group_count == model->group_count);
	fuzz_check(again->source_count == model->source_count);
	free(text);
}

enum { THREADS_PLAYED = 200, EVENTS_PLAYED = 3000, REQUESTS_PLAYED = 200 };

/* More threads than that are only slow. */
static bool is_small(const struct model *model)
{
	double sum = 0, count = 0;
	for (size_t i = 0; i < model->group_count; i++) {
		fuzz_check(model_evaluate(model, &model->groups[i].count, MODEL_NUMBER, NULL,
				   &count, NULL) == 0);
		sum += count;
	}
	return sum <= THREADS_PLAYED;
}

static void play_model(const struct model *model)
{
	double *row = calloc(sample_size(model), sizeof *row);
	double *parameters = calloc(model->parameter_count + 1, sizeof *parameters);
	fuzz_check(row && parameters);
	for (size_t i = 0; i < model->parameter_count; i++)
		parameters[i] = model->parameters[i].value;
	const struct sample_options options = { .model = model,
		.parameters = parameters,
		.seed = 1,
		.requests = sample_has_requests(model) ? REQUESTS_PLAYED : 0,
		.event_limit = EVENTS_PLAYED };
	struct err err = { "" };
	int code = is_small(model) ? sample_run(&options, row, &err) : 0;
	fuzz_check(code <= 0 && (code == 0 || *err.text));
	fuzz_check(code < 0 || row[GRAPH_TIME_S] >= 0);
	free(row);
	free(parameters);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(model) struct model *model = NULL;
	struct err err = { "" };
	FILE *in = fuzz_open(data, size);
	int code = model_read(in, "input", &model, &err);
	(void)fclose(in);
	fuzz_check((code == 0) == (model != NULL));
	if (code == 0) {
		check_model(model);
		play_model(model);
	} else {
		fuzz_check(strncmp(err.text, "input:", 6) == 0);
	}
	for (const char *p = err.text; *p; p++)
		fuzz_check((unsigned char)*p >= ' ' && *p != 0x7f);
	return 0;
}
