/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a trace file and analysing it: what `criticality` and `report` share. */
#ifndef CMD_ANALYSED_H
#define CMD_ANALYSED_H

#include "code/symbols.h"
#include "criticality/analysis.h"
#include "report/criticality.h"

#include <stdio.h>

/* One file and what became of it. */
struct analysed {
	const char *path; /* borrowed */
	struct results *results;
	struct symbols *symbols;
	struct code_finder finder; /* borrows symbols */
};

/*
 * 0; else a negative errno with the reason. What the file lacks (damaged parts, a killed run) is
 * said on `notes`, which may be NULL. In a timeline that was { .path = ... } before.
 */
int analysed_read(
	struct analysed *file, const struct analysis_opts *opts, FILE *notes, struct err *err);
void analysed_release(struct analysed *file);

/* Whether a file that was just opened holds a timeline; it is at its begin again afterwards. */
bool analysed_is_timeline(FILE *file);

/* Whether it may be a profile; likewise. */
bool analysed_is_profile(FILE *file);

/* Names of code by a program's symbols, which are borrowed. */
struct code_finder analysed_finder(struct symbols *symbols);

/* Borrows the file. */
struct criticality_input analysed_input(const struct analysed *file);

/* The file without its folders. */
const char *analysed_subject(const struct analysed *file);

#endif
