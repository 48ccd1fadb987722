/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/capability.h"

#include "base/cleanup.h"
#include "base/readfile.h"

bool capability_has(const char *root, int capability)
{
	AUTO_FILE FILE *file = readfile_open(root, "/proc/self/status");
	char line[256];
	unsigned long long bits = 0;
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "CapEff: %llx", &bits) == 1)
			break;
	return bits >> capability & 1;
}
