/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machine files: what is accepted fits together and is read back as it was written; what is not has a place. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "uarch/machine_field.h"

#include <string.h>

static char *write_text(const struct processor *processor, size_t *ret_size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_size);
	fuzz_check(out != NULL);
	processor_write(processor, out);
	fuzz_check(fclose(out) == 0);
	return text;
}

static void check_processor(const struct processor *processor)
{
	const char *field = NULL;
	struct err err = { "" };
	size_t size = 0, size_again = 0;
	fuzz_check(processor_check(processor, &field, &err) == 0);
	fuzz_check(processor->cores > 0 && processor->dispatch_width > 0 && processor->rob > 0);
	fuzz_check(processor->level_count > 0 && processor->load_ports && processor->store_ports);
	for (unsigned i = 0; i < CODE_CLASSES; i++)
		fuzz_check(processor->units[i].ports && processor->units[i].interval);
	AUTO_FREE char *text = write_text(processor, &size);
	AUTO_RELEASE(processor) struct processor again = { 0 };
	fuzz_check(processor_parse("again", text, size, &again, &err) == 0);
	AUTO_FREE char *text_again = write_text(&again, &size_again);
	fuzz_check(size == size_again && memcmp(text, text_again, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_RELEASE(processor) struct processor processor = { 0 };
	struct err err = { "" };
	int code = processor_parse("input", (const char *)data, size, &processor, &err);
	if (code == 0)
		check_processor(&processor);
	else
		fuzz_check(strncmp(err.text, "input", 5) == 0 && !processor.name);
	for (const char *p = err.text; *p; p++)
		fuzz_check((unsigned char)*p >= ' ' && *p != 0x7f);
	return 0;
}
