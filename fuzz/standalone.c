/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A main for fuzz targets where there is no libFuzzer: runs the target once for each file, and for
 * each file of each folder, that is given. libFuzzer's own options (-name=value) are ignored.
 */
#include "fuzz.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <string.h>

enum { INPUT_BYTES_MAX = 1 << 24 };

static int run_file(const char *path)
{
	AUTO_FILE FILE *file = fopen(path, "re");
	AUTO_FREE uint8_t *data = malloc(INPUT_BYTES_MAX);
	if (!file || !data) {
		perror(path);
		return -1;
	}
	size_t size = fread(data, 1, INPUT_BYTES_MAX, file);
	/* A buffer of its own size, so that a sanitizer sees reads beyond its end. */
	AUTO_FREE uint8_t *exact = malloc(size > 0 ? size : 1);
	if (!exact)
		return -1;
	memcpy(exact, data, size);
	(void)LLVMFuzzerTestOneInput(exact, size); /* always 0 */
	return 1;
}

/* The number of inputs that were run, -1 if one could not be read. */
static int run_folder(DIR *folder, const char *path)
{
	int count = 0;
	const struct dirent *entry;
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		AUTO_FREE char *file = NULL;
		if (asprintf(&file, "%s/%s", path, entry->d_name) < 0)
			return -1;
		if (run_file(file) < 0)
			return -1;
		count++;
	}
	return count;
}

int main(int argc, char **argv)
{
	int total = 0;
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			continue;
		DIR *folder = opendir(argv[i]);
		int count = folder ? run_folder(folder, argv[i]) : run_file(argv[i]);
		if (folder)
			(void)closedir(folder); /* only read */
		if (count < 0)
			return EXIT_FAILURE;
		total += count;
	}
	printf("%d inputs\n", total);
	return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE; /* no input is no test */
}
