/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/uprobe.h"

#include "base/cleanup.h"
#include "collect/readfile.h"

#include <errno.h>
#include <string.h>

int uprobe_event(const char *path, uint64_t offset, struct perf_event_attr *ret, struct err *err)
{
	double type;
	if (readfile_number("", "/sys/bus/event_source/devices/uprobe/type", &type) < 0)
		return err_set(err, -EOPNOTSUPP, "this kernel has no uprobes");
	*ret = (struct perf_event_attr){
		.size = sizeof *ret,
		.type = (uint32_t)type,
		.uprobe_path = (uintptr_t)path,
		.probe_offset = offset,
	};
	return 0;
}

#if HAVE_DW
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

static void elf_release(Elf **elf)
{
	(void)elf_end(*elf); /* only read */
}

/* The address of a function in a table of symbols; 0: it is not there. */
static uint64_t find_in(Elf *elf, Elf_Scn *section, const char *function)
{
	GElf_Shdr header;
	Elf_Data *data = elf_getdata(section, NULL);
	if (!data || !gelf_getshdr(section, &header) || header.sh_entsize == 0)
		return 0;
	size_t count = header.sh_size / header.sh_entsize;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_value == 0)
			continue;
		unsigned char type = GELF_ST_TYPE(symbol.st_info);
		const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if ((type == STT_FUNC || type == STT_GNU_IFUNC) && name &&
			strcmp(name, function) == 0)
			return symbol.st_value;
	}
	return 0;
}

static uint64_t find_function(Elf *elf, const char *function)
{
	uint64_t address = 0;
	for (Elf_Scn *s = NULL; address == 0 && (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;
		if (gelf_getshdr(s, &header) &&
			(header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			address = find_in(elf, s, function);
	}
	return address;
}

static int to_offset(Elf *elf, uint64_t address, uint64_t *ret)
{
	size_t count;
	if (elf_getphdrnum(elf, &count) < 0)
		return -ENOEXEC;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		GElf_Phdr p;
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && address >= p.p_vaddr &&
			address - p.p_vaddr < p.p_filesz) {
			*ret = address - p.p_vaddr + p.p_offset;
			return 0;
		}
	}
	return -ENOEXEC;
}

int uprobe_offset(const char *path, const char *function, uint64_t *ret, struct err *err)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	(void)elf_version(
		EV_CURRENT); /* must be said once; fails for versions of the future only */
	__attribute__((cleanup(elf_release))) Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return err_set(err, -ENOEXEC, "'%s' is not an ELF file", path);
	uint64_t address = find_function(elf, function);
	if (address == 0)
		return err_set(err, -ENOENT,
			"'%s' has no function '%s' (nm -D '%s' shows those of a "
			"stripped file)",
			path, function, path);
	if (to_offset(elf, address, ret) < 0)
		return err_set(
			err, -ENOEXEC, "'%s' in '%s' is nowhere in the file", function, path);
	return 0;
}
#else
int uprobe_offset(const char *path, const char *function, uint64_t *ret, struct err *err)
{
	(void)function;
	(void)ret;
	return err_set(
		err, -EOPNOTSUPP, "this build cannot look into '%s': it has no elfutils", path);
}
#endif
