/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/symbol_table.h"

void symbol_table_release(struct symbol_table *table)
{
	ranges_release(&table->global);
	ranges_release(&table->local);
	ranges_release(&table->labels);
	table->is_read = false;
}

/* NULL: the symbol names no address of the program. */
static struct ranges *list_of(struct symbol_table *table, const GElf_Sym *symbol, GElf_Word section)
{
	int type = GELF_ST_TYPE(symbol->st_info);
	if (section == SHN_UNDEF || type == STT_SECTION || type == STT_FILE || type == STT_TLS)
		return NULL;
	if (symbol->st_size == 0)
		return section < SHN_LORESERVE ? &table->labels : NULL;
	return GELF_ST_BIND(symbol->st_info) == STB_LOCAL ? &table->local : &table->global;
}

/* Without memory what was read so far is kept. */
static void read_all(struct symbol_table *table, Dwfl_Module *module)
{
	int count = dwfl_module_getsymtab(module);
	table->is_read = true;
	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr start = 0;
		GElf_Word section = SHN_UNDEF;
		const char *name =
			dwfl_module_getsym_info(module, i, &symbol, &start, &section, NULL, NULL);
		struct ranges *list = name && *name ? list_of(table, &symbol, section) : NULL;
		bool is_strong = list && GELF_ST_BIND(symbol.st_info) != STB_WEAK;
		if (list &&
			ranges_add(list, start, start + symbol.st_size, is_strong, (size_t)i) < 0)
			break;
	}
	ranges_sort(&table->global);
	ranges_sort(&table->local);
	ranges_sort(&table->labels);
}

static Elf_Scn *section_of(Dwfl_Module *module, uint64_t address)
{
	Dwarf_Addr bias = 0;
	return dwfl_module_address_section(module, &address, &bias);
}

/* Whether one of those that begin before the address ends behind `start`. */
static bool ends_behind(const struct ranges *symbols, uint64_t address, uint64_t start)
{
	const struct range *last = ranges_before(symbols, address);
	return last && last->reach > start;
}

/* The label before an address that no symbol holds: not where a function that has ended lies between. */
static const struct range *label_before(
	const struct symbol_table *table, Dwfl_Module *module, uint64_t address)
{
	const struct range *label = ranges_before(&table->labels, address);
	if (!label || ends_behind(&table->global, address, label->start) ||
		ends_behind(&table->local, address, label->start) ||
		section_of(module, label->start) != section_of(module, address))
		return NULL;
	return label;
}

const char *symbol_table_find(
	struct symbol_table *table, Dwfl_Module *module, uint64_t address, uint64_t *ret_offset)
{
	GElf_Sym symbol;
	GElf_Addr start = 0;
	if (!table->is_read)
		read_all(table, module);
	const struct range *found = ranges_find(&table->global, address);
	if (!found)
		found = ranges_find(&table->local, address);
	if (!found)
		found = label_before(table, module, address);
	if (!found)
		return NULL;
	*ret_offset = address - found->start;
	return dwfl_module_getsym_info(
		module, (int)found->index, &symbol, &start, NULL, NULL, NULL);
}
