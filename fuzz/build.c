/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any timeline in CSV: a model that passes its own check comes out, or an error. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "builder/build.h"
#include "trace/csv_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FILE FILE *in = fuzz_open(data, size);
	AUTO(build) struct build *build = NULL;
	AUTO(model) struct model *model = NULL;
	struct err err;
	struct build_opts opts = { .name = "fuzz", .cores = 2 };
	if (!in || build_new(&opts, &build) < 0)
		return 0;
	struct event_sink sink = build_sink(build);
	if (timeline_csv_read(in, "fuzz", &sink, NULL, &err) < 0)
		return 0;
	if (build_model(build, &model, &err) < 0)
		return 0;
	fuzz_check(model_check(model, &err) == 0);
	return 0;
}
