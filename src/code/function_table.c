/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/function_table.h"

#include "base/cleanup.h"
#include "base/sorted.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

enum {
	PROGRAM_HEADERS_MAX = 128,
	FUNCTIONS_MAX = 1 << 24, /* a bound for files that lie */
	/* Encodings that every linker writes: signed 32 bits from the place itself, unsigned 32
	   bits, signed 32 bits from the table's header. */
	POINTER_ENCODING = 0x1b,
	COUNT_ENCODING = 0x03,
	TABLE_ENCODING = 0x3b,
};

/* The section, up to its table. */
struct table_header {
	uint8_t version;
	uint8_t pointer_encoding;
	uint8_t count_encoding;
	uint8_t table_encoding;
	int32_t pointer;
	uint32_t count;
};

struct table_entry {
	int32_t start; /* from the header's address */
	int32_t description;
};

void function_table_release(struct function_table *table)
{
	free(table->starts);
	*table = (struct function_table){ 0 };
}

static bool find_segment(int fd, ElfW(Phdr) * ret)
{
	ElfW(Ehdr) elf;
	ElfW(Phdr) headers[PROGRAM_HEADERS_MAX];
	if (pread(fd, &elf, sizeof(elf), 0) != (ssize_t)sizeof(elf) ||
		memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phnum > PROGRAM_HEADERS_MAX)
		return false;
	size_t bytes = (size_t)elf.e_phnum * sizeof(headers[0]);
	if (pread(fd, headers, bytes, (off_t)elf.e_phoff) != (ssize_t)bytes)
		return false;
	for (size_t i = 0; i < elf.e_phnum; i++)
		if (headers[i].p_type == PT_GNU_EH_FRAME) {
			*ret = headers[i];
			return true;
		}
	return false;
}

static bool is_usual(const struct table_header *header)
{
	return header->version == 1 && header->pointer_encoding == POINTER_ENCODING &&
	       header->count_encoding == COUNT_ENCODING &&
	       header->table_encoding == TABLE_ENCODING && header->count > 0 &&
	       header->count <= FUNCTIONS_MAX;
}

void function_table_read(const char *path, struct function_table *ret)
{
	ElfW(Phdr) segment;
	struct table_header header;
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !find_segment(fd, &segment))
		return;
	off_t offset = (off_t)segment.p_offset;
	if (pread(fd, &header, sizeof(header), offset) != (ssize_t)sizeof(header) ||
		!is_usual(&header))
		return;
	size_t bytes = (size_t)header.count * sizeof(struct table_entry);
	AUTO_FREE struct table_entry *entries = malloc(bytes);
	AUTO_FREE uint64_t *starts = calloc(header.count, sizeof(*starts));
	offset += (off_t)sizeof(header);
	if (!entries || !starts || pread(fd, entries, bytes, offset) != (ssize_t)bytes)
		return;
	for (size_t i = 0; i < header.count; i++)
		starts[i] = segment.p_vaddr + (uint64_t)(int64_t)entries[i].start;
	ret->starts = TAKE(starts);
	ret->count = header.count;
}

static bool starts_by(const void *start, const void *address)
{
	return *(const uint64_t *)start <= *(const uint64_t *)address;
}

/* How many functions start at or before an address. */
static size_t count_to(const struct function_table *table, uint64_t address)
{
	return sorted_before(
		table->starts, table->count, sizeof *table->starts, starts_by, &address);
}

uint64_t function_table_find(const struct function_table *table, uint64_t address)
{
	size_t count = count_to(table, address);
	return count > 0 ? table->starts[count - 1] : 0;
}

uint64_t function_table_next(const struct function_table *table, uint64_t address)
{
	size_t count = count_to(table, address);
	return count > 0 && count < table->count ? table->starts[count] : 0;
}
