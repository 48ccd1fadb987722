/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/static_program.h"

#include "plugin/symbols.h"

#include <errno.h>

static bool is_static(const struct symbols *file)
{
	const Elf64_Ehdr *header = symbols_header(file);
	if (!header || header->e_machine != EM_X86_64 ||
		(header->e_type != ET_EXEC && header->e_type != ET_DYN))
		return false;
	const Elf64_Phdr *parts =
		symbols_part(file, header->e_phoff, header->e_phnum, sizeof(*parts));
	for (uint32_t i = 0; parts && i < header->e_phnum; i++)
		if (parts[i].p_type == PT_INTERP)
			return false;
	return parts != NULL;
}

bool static_program_is(const char *path)
{
	struct symbols file = symbols_map(path);
	bool yes = is_static(&file);
	symbols_unmap(&file);
	return yes;
}

/* OpenMP's runtime waits by system calls of its own. */
static void look_for_openmp(const char *name, uint64_t address, void *has_openmp)
{
	(void)address;
	if (strcmp(name, "GOMP_parallel") == 0 || strcmp(name, "__kmpc_fork_call") == 0)
		*(bool *)has_openmp = true;
}

int static_program_check(const char *path, struct err *err)
{
	struct symbols file = symbols_map(path);
	bool has_openmp = false;
	size_t functions = symbols_visit(&file, look_for_openmp, &has_openmp);
	symbols_unmap(&file);
	if (functions == 0)
		return err_set(err, -EOPNOTSUPP,
			"'%s' is statically linked and stripped, so nothing tells where its "
			"threads "
			"wait: link it dynamically, or keep its symbols",
			path);
	if (has_openmp)
		return err_set(err, -EOPNOTSUPP,
			"'%s' is statically linked with OpenMP's runtime, whose waits cannot be "
			"seen: "
			"link it dynamically",
			path);
	return 0;
}
