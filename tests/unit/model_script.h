/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models written as YAML in tests, and one run of them. */
#ifndef TESTS_MODEL_SCRIPT_H
#define TESTS_MODEL_SCRIPT_H

#include "cmocka_all.h"

#include "base/mem.h"
#include "model/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int read_text(const char *text, struct model **ret, struct err *err)
{
	AUTO_FILE FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	assert_non_null(in);
	return model_read(in, "m.yaml", ret, err);
}

/* Fails the test where the model is refused. */
static inline struct model *parse(const char *text)
{
	struct model *model = NULL;
	struct err err;
	if (read_text(text, &model, &err) < 0)
		fail_msg("%s", err.text);
	return model;
}

/* The results of one run (model/sample.h), which the caller frees; fails the test where it cannot be. */
static inline double *run_with(const struct model *model, struct sample_options options)
{
	double *row = calloc(sample_size(model), sizeof *row);
	struct err err;
	assert_non_null(row);
	options.model = model;
	if (sample_run(&options, row, &err) < 0)
		fail_msg("%s", err.text);
	return row;
}

#endif
