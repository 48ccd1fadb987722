/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/code_bytes.h"

#include <gelf.h>

const void *code_bytes(Dwfl_Module *module, uint64_t address, size_t *size)
{
	GElf_Addr bias = 0;
	Elf *elf = dwfl_module_getelf(module, &bias);
	GElf_Shdr head;
	for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
		if (!gelf_getshdr(section, &head) || !(head.sh_flags & SHF_EXECINSTR) ||
			head.sh_type != SHT_PROGBITS || address < head.sh_addr + bias ||
			address - bias - head.sh_addr >= head.sh_size)
			continue;
		const Elf_Data *data = elf_rawdata(section, NULL);
		uint64_t offset = address - bias - head.sh_addr;
		if (!data || !data->d_buf || offset >= data->d_size)
			return NULL;
		if (*size > data->d_size - offset)
			*size = data->d_size - offset;
		return (const char *)data->d_buf + offset;
	}
	return NULL;
}

static const char *name_of_symbol(Elf *elf, size_t table, size_t index)
{
	GElf_Shdr head;
	GElf_Sym symbol;
	Elf_Scn *section = elf_getscn(elf, table);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || !gelf_getshdr(section, &head) || !gelf_getsym(data, (int)index, &symbol))
		return NULL;
	return elf_strptr(elf, head.sh_link, symbol.st_name);
}

/*
 * How many entries of the relocations at this address are for the file itself: linkers put these first, a hundred thousand
 * in a large library, and say so (DT_RELACOUNT).
 */
static size_t count_own(Elf *elf, GElf_Addr address)
{
	GElf_Addr table = 0;
	size_t count = 0;
	GElf_Shdr head;
	GElf_Dyn entry;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNAMIC)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL;
			i++) {
			if (entry.d_tag == DT_RELA)
				table = entry.d_un.d_ptr;
			else if (entry.d_tag == DT_RELACOUNT)
				count = entry.d_un.d_val;
		}
	}
	return table == address ? count : 0;
}

const char *code_import(Dwfl_Module *module, uint64_t slot)
{
	GElf_Addr bias = 0;
	Elf *elf = dwfl_module_getelf(module, &bias);
	GElf_Shdr head;
	GElf_Rela entry;
	for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_RELA ||
			head.sh_entsize == 0)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		for (size_t i = count_own(elf, head.sh_addr);
			data && i < head.sh_size / head.sh_entsize; i++)
			if (gelf_getrela(data, (int)i, &entry) && entry.r_offset + bias == slot)
				return name_of_symbol(elf, head.sh_link, GELF_R_SYM(entry.r_info));
	}
	return NULL;
}
