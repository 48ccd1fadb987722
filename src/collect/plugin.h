/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A software stall that a program reports about itself, as in ESTIMA (Chatzopoulos, Dragojevic and
 * Guerraoui, "ESTIMA: extrapolating scalability of in-memory applications", section 4): a YAML file
 * names the category, where the numbers are printed, the expression that finds them and what to do
 * with several (docs/formats/plugin.md).
 */
#ifndef COLLECT_PLUGIN_H
#define COLLECT_PLUGIN_H

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/capture.h"
#include "collect/extract.h"

#include <stdint.h>
#include <time.h>

enum plugin_unit { PLUGIN_CYCLES, PLUGIN_SECONDS };

struct plugin_document; /* the YAML, as libcyaml loads it */

struct plugin {
	struct plugin_document *document;
	const char *category; /* borrowed from the document, as the next */
	const char *source; /* "stdout", "stderr" or a path, in which {n} is the count */
	enum plugin_unit unit;
	double scale; /* numbers read are multiplied by it */
	struct extractor extractor;
};

/*
 * Reads a plugin from YAML text; `name` is what messages call it. 0; -EINVAL, whose text has line
 * and field; -ENOMEM. Free *ret with plugin_free().
 */
int plugin_parse(
	const char *text, size_t size, const char *name, struct plugin **ret, struct err *err);

/* The same from a file; also a negative errno if it cannot be read. */
int plugin_load(const char *path, struct plugin **ret, struct err *err);
void plugin_free(struct plugin *plugin);

/* Whether a stream of the program must be kept whole for it. */
bool plugin_reads(const struct plugin *plugin, enum capture_stream stream);

/*
 * The category's value after a run at `threads` that began at `start` (CLOCK_REALTIME): a file
 * older than that was not written by the run and is refused. *ret is NAN where nothing matched.
 * 0, -ENOENT, -ESTALE, -EINVAL, ... and the text says what of which plugin.
 */
int plugin_read(const struct plugin *plugin, const struct capture *capture, uint32_t threads,
	struct timespec start, double *ret, struct err *err);

CLEANUP_DEFINE(plugin, plugin_free)

#endif
