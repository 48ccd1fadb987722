/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stall plugins: what is accepted keeps the promises of collect/plugin.h. */
#include "fuzz.h"

#include "collect/plugin.h"

#include <string.h>

static void check_plugin(const struct plugin *plugin)
{
	fuzz_check(*plugin->category && !strpbrk(plugin->category, ",\" \n"));
	fuzz_check(*plugin->source);
	fuzz_check(plugin->scale > 0);
	fuzz_check(plugin->unit == PLUGIN_CYCLES || plugin->unit == PLUGIN_SECONDS);
	fuzz_check(plugin->extractor.regex.re_nsub >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(plugin) struct plugin *plugin = NULL;
	struct err err = { "" };
	int code = plugin_parse((const char *)data, size, "input", &plugin, &err);
	fuzz_check((code == 0) == (plugin != NULL));
	if (code == 0)
		check_plugin(plugin);
	else
		fuzz_check(strncmp(err.text, "input:", 6) == 0);
	for (const char *p = err.text; *p; p++)
		fuzz_check((unsigned char)*p >= ' ' && *p != 0x7f);
	return 0;
}
