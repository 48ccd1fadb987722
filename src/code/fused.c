/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/fused.h"

#if HAVE_ZYDIS

#include "base/cleanup.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static bool is_fused(const ZydisDecodedInstruction *instruction)
{
	return instruction->meta.isa_set == ZYDIS_ISA_SET_FMA;
}

static bool has_fused(const ZydisDecoder *decoder, const unsigned char *code, size_t size)
{
	ZydisDecodedInstruction instruction;
	size_t at = 0;
	while (at < size) {
		bool is_known = ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
			decoder, NULL, code + at, size - at, &instruction));
		if (is_known && is_fused(&instruction))
			return true;
		at += is_known ? instruction.length : 1;
	}
	return false;
}

static bool file_has_fused(const unsigned char *file, size_t size)
{
	ZydisDecoder decoder;
	Elf64_Ehdr head;
	if (size < sizeof head || !ZYAN_SUCCESS(ZydisDecoderInit(&decoder,
					  ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return false;
	memcpy(&head, file, sizeof head);
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_machine != EM_X86_64)
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr part;
		uint64_t at = head.e_phoff + (uint64_t)i * sizeof part;
		if (at > size || size - at < sizeof part)
			return false;
		memcpy(&part, file + at, sizeof part);
		if (part.p_type != PT_LOAD || !(part.p_flags & PF_X) || part.p_offset > size ||
			part.p_filesz > size - part.p_offset)
			continue;
		if (has_fused(&decoder, file + part.p_offset, part.p_filesz))
			return true;
	}
	return false;
}

bool program_has_fused(const char *path)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;
	if (fd < 0 || fstat(fd, &info) < 0 || info.st_size <= 0)
		return false;
	void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	bool has = file_has_fused(map, (size_t)info.st_size);
	(void)munmap(map, (size_t)info.st_size); /* was mapped so */
	return has;
}

#else

bool program_has_fused(const char *path)
{
	(void)path;
	return false;
}

#endif
