/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of a program's own symbol table (.symtab), which static programs have unless they are stripped. */
#ifndef PLUGIN_SYMBOLS_H
#define PLUGIN_SYMBOLS_H

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in memory. */
struct symbols {
	const char *bytes; /* NULL: none */
	size_t size;
};

static inline struct symbols symbols_map(const char *path)
{
	struct symbols symbols = { 0 };
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return symbols;
	void *map = MAP_FAILED;
	if (fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof(Elf64_Ehdr))
		map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		symbols = (struct symbols){ map, (size_t)info.st_size };
	return symbols;
}

static inline void symbols_unmap(struct symbols *symbols)
{
	if (symbols->bytes)
		(void)munmap((void *)symbols->bytes, symbols->size); /* was mapped so */
	symbols->bytes = NULL;
}

static inline const void *symbols_part(
	const struct symbols *symbols, uint64_t offset, uint64_t count, uint64_t size)
{
	bool is_inside = offset <= symbols->size && count <= (symbols->size - offset) / size;
	return is_inside && offset % 8 == 0 ? symbols->bytes + offset : NULL;
}

/* The header of a 64-bit program; NULL: the file is none. */
static inline const Elf64_Ehdr *symbols_header(const struct symbols *symbols)
{
	const Elf64_Ehdr *header = (const void *)symbols->bytes;
	bool is_elf = header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
		      header->e_ident[EI_CLASS] == ELFCLASS64;
	return is_elf ? header : NULL;
}

/* Calls `each` for every function, with its name and address in the file. Their number. */
static inline size_t symbols_visit(const struct symbols *symbols,
	void (*each)(const char *name, uint64_t address, void *userdata), void *userdata)
{
	const Elf64_Ehdr *header = symbols_header(symbols);
	size_t found = 0;
	const Elf64_Shdr *sections = NULL;
	if (header && header->e_shentsize == sizeof(*sections))
		sections =
			symbols_part(symbols, header->e_shoff, header->e_shnum, sizeof(*sections));
	for (uint32_t i = 0; sections && i < header->e_shnum; i++) {
		const Elf64_Shdr *table = &sections[i];
		if (table->sh_type != SHT_SYMTAB || table->sh_link >= header->e_shnum)
			continue;
		const Elf64_Shdr *names = &sections[table->sh_link];
		uint64_t count = table->sh_size / sizeof(Elf64_Sym);
		const Elf64_Sym *list =
			symbols_part(symbols, table->sh_offset, count, sizeof(*list));
		if (!list || names->sh_size == 0 || names->sh_offset > symbols->size ||
			names->sh_size > symbols->size - names->sh_offset ||
			symbols->bytes[names->sh_offset + names->sh_size - 1] != '\0')
			continue;
		for (uint64_t s = 0; s < count; s++) {
			unsigned type = ELF64_ST_TYPE(list[s].st_info);
			if (type != STT_FUNC || list[s].st_shndx == SHN_UNDEF ||
				list[s].st_name >= names->sh_size)
				continue;
			each(symbols->bytes + names->sh_offset + list[s].st_name, list[s].st_value,
				userdata);
			found++;
		}
	}
	return found;
}

#endif
