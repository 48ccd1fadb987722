/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libFuzzer and standalone.c call. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as a file to read. */
static inline FILE *fuzz_open(const uint8_t *data, size_t size)
{
	/* fmemopen takes no empty buffer; it does not write to one opened for reading. */
	FILE *file =
		size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : fopen("/dev/null", "r");
	if (!file)
		abort();
	return file;
}

/* A fact about the result that must hold for every input; a crash, for the fuzzer, if not. */
static inline void fuzz_check(int fact)
{
	if (!fact)
		abort();
}

#endif
