/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model files: what is accepted passes its own check, and is read back after it was written. */
#include "fuzz.h"

#include "model/model.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(model) struct model *model = NULL;
	struct err err = { "" };
	FILE *in = fuzz_open(data, size);
	int code = model_read(in, "input", &model, &err);
	(void)fclose(in);
	fuzz_check((code == 0) == (model != NULL));
	if (code == 0)
		check_model(model);
	else
		fuzz_check(strncmp(err.text, "input:", 6) == 0);
	for (const char *p = err.text; *p; p++)
		fuzz_check((unsigned char)*p >= ' ' && *p != 0x7f);
	return 0;
}
