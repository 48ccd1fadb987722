/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A table says, for each instruction, where the frame begins (the canonical frame address: a register and a distance)
 * and where the caller's frame pointer was put. On x86-64 the return address lies right below where the
 * frame begins. That is all that is needed: other registers are not followed, and where a table needs them, it ends.
 */
#include "code/unwind.h"

#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if HAVE_DW && defined(__x86_64__)
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

enum { DWARF_FP = 6, DWARF_SP = 7 }; /* System V ABI, AMD64 supplement, figure 3.36 */

enum fp_rule { FP_SAME, FP_SAVED, FP_LOST };

/* For one instruction. */
struct rule {
	int64_t cfa_offset,
		fp_offset; /* fp_offset: of where it was saved, from the frame's begin */
	uint8_t cfa_register; /* DWARF_FP or DWARF_SP; 0: not known */
	uint8_t fp; /* enum fp_rule */
};

/* Of an index of the address spaces' modules. */
struct file {
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi; /* NULL: has no table, or cannot be read */
	bool is_open; /* it was tried */
};

struct unwinder {
	struct file *files;
	size_t file_count;
	struct map known; /* (module, offset in the file) -> index in rules */
	struct rule *rules;
	size_t rule_count, rule_capacity;
};

bool unwinder_is_able(void)
{
	return true;
}

int unwinder_new(struct unwinder **ret)
{
	struct unwinder *unwinder = calloc(1, sizeof *unwinder);
	if (!unwinder)
		return -ENOMEM;
	(void)elf_version(EV_CURRENT); /* ours is never too old for the header it was built with */
	*ret = unwinder;
	return 0;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	for (size_t i = 0; i < unwinder->file_count; i++) {
		const struct file *file = &unwinder->files[i];
		if (!file->is_open)
			continue;
		(void)dwarf_cfi_end(file->cfi); /* takes NULL, as the next one */
		(void)elf_end(file->elf);
		if (file->fd >= 0)
			(void)close(file->fd); /* read only */
	}
	free(unwinder->files);
	free(unwinder->rules);
	map_release(&unwinder->known);
	free(unwinder);
}

static struct file *open_file(
	struct unwinder *unwinder, const struct address_spaces *spaces, uint32_t module)
{
	if (module >= unwinder->file_count) {
		struct file *files = realloc(unwinder->files, spaces->module_count * sizeof *files);
		if (!files)
			return NULL;
		memset(files + unwinder->file_count, 0,
			(spaces->module_count - unwinder->file_count) * sizeof *files);
		unwinder->files = files;
		unwinder->file_count = spaces->module_count;
	}
	struct file *file = &unwinder->files[module];
	if (file->is_open)
		return file;
	file->is_open = true;
	file->fd = open(spaces->modules[module], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	file->elf = file->fd >= 0 ? elf_begin(file->fd, ELF_C_READ_MMAP, NULL) : NULL;
	file->cfi =
		file->elf && elf_kind(file->elf) == ELF_K_ELF ? dwarf_getcfi_elf(file->elf) : NULL;
	return file;
}

/* Where the byte at an offset of a file is meant to be loaded. False: nowhere. */
static bool find_address(Elf *elf, uint64_t offset, Dwarf_Addr *ret)
{
	size_t count;
	if (elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
			offset < header.p_offset || offset - header.p_offset >= header.p_filesz)
			continue;
		*ret = header.p_vaddr + (offset - header.p_offset);
		return true;
	}
	return false;
}

static void read_cfa(Dwarf_Frame *frame, struct rule *rule)
{
	Dwarf_Op *ops;
	size_t count;
	if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count != 1)
		return;
	uint64_t number = ops[0].number;
	int reg = (int)ops[0].atom - DW_OP_breg0;
	if (ops[0].atom == DW_OP_bregx) {
		reg = (int)ops[0].number;
		number = ops[0].number2;
	}
	if (reg != DWARF_FP && reg != DWARF_SP)
		return;
	rule->cfa_register = (uint8_t)reg;
	rule->cfa_offset = (int64_t)number;
}

static void read_fp(Dwarf_Frame *frame, struct rule *rule)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	rule->fp = FP_LOST;
	if (dwarf_frame_register(frame, DWARF_FP, memory, &ops, &count) != 0)
		return;
	if (count == 0) { /* as libdw says it: undefined, or the same */
		rule->fp = ops ? FP_LOST : FP_SAME;
		return;
	}
	bool is_saved = ops[0].atom == DW_OP_call_frame_cfa &&
			(count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst));
	if (!is_saved)
		return;
	rule->fp = FP_SAVED;
	rule->fp_offset = count == 2 ? (int64_t)ops[1].number : 0;
}

static struct rule read_rule(const struct file *file, uint64_t offset)
{
	struct rule rule = { 0 };
	Dwarf_Addr address;
	Dwarf_Frame *frame = NULL;
	if (!file->cfi || !find_address(file->elf, offset, &address) ||
		dwarf_cfi_addrframe(file->cfi, address, &frame) != 0)
		return rule;
	read_cfa(frame, &rule);
	read_fp(frame, &rule);
	free(frame);
	return rule;
}

/* NULL: nothing is known, or no memory. Borrowed until the next call. */
static const struct rule *find_rule(
	struct unwinder *unwinder, const struct address_spaces *spaces, uint32_t pid, uint64_t pc)
{
	const struct mapping *mapping = address_spaces_find(spaces, pid, pc);
	if (!mapping)
		return NULL;
	uint64_t offset = pc - mapping->start + mapping->offset;
	uint64_t *index = map_find(&unwinder->known, mapping->module, offset);
	if (!index) {
		const struct file *file = open_file(unwinder, spaces, mapping->module);
		if (!file ||
			mem_grow(&unwinder->rules, &unwinder->rule_capacity,
				unwinder->rule_count + 1, sizeof *unwinder->rules) < 0 ||
			map_add(&unwinder->known, mapping->module, offset, unwinder->rule_count,
				&index) < 0)
			return NULL;
		unwinder->rules[unwinder->rule_count++] = read_rule(file, offset);
	}
	const struct rule *rule = &unwinder->rules[*index];
	return rule->cfa_register ? rule : NULL;
}

/* A word of the stack. False: it is beyond the image. */
static bool read_word(const struct stack_image *image, uint64_t address, uint64_t *ret)
{
	uint64_t at = address - image->sp;
	if (address < image->sp || at > image->size || image->size - at < sizeof *ret)
		return false;
	memcpy(ret, image->bytes + at, sizeof *ret);
	return true;
}

size_t unwinder_callers(struct unwinder *unwinder, const struct address_spaces *spaces,
	uint32_t pid, const struct stack_image *image, uint64_t *ret, size_t max)
{
	uint64_t pc = image->pc, sp = image->sp, fp = image->fp;
	bool has_fp = true;
	size_t count = 0;
	while (count < max) {
		/* A return address lies behind its call, which may be the last instruction of its function. */
		const struct rule *rule = find_rule(unwinder, spaces, pid, pc - (count > 0));
		if (!rule || (rule->cfa_register == DWARF_FP && !has_fp))
			break;
		uint64_t begin =
			(rule->cfa_register == DWARF_FP ? fp : sp) + (uint64_t)rule->cfa_offset;
		/* Stacks grow downwards: what begins lower is no caller's, and would never end. */
		if (begin <= sp || !read_word(image, begin - sizeof pc, &pc) ||
			!address_spaces_find(spaces, pid, pc - 1))
			break;
		if (rule->fp == FP_SAVED)
			has_fp = read_word(image, begin + (uint64_t)rule->fp_offset, &fp);
		has_fp = has_fp && rule->fp != FP_LOST;
		sp = begin;
		ret[count++] = pc;
	}
	return count;
}

#else

struct unwinder {
	char unused;
};

bool unwinder_is_able(void)
{
	return false;
}

int unwinder_new(struct unwinder **ret)
{
	*ret = calloc(1, sizeof **ret);
	return *ret ? 0 : -ENOMEM;
}

void unwinder_free(struct unwinder *unwinder)
{
	free(unwinder);
}

size_t unwinder_callers(struct unwinder *unwinder, const struct address_spaces *spaces,
	uint32_t pid, const struct stack_image *image, uint64_t *ret, size_t max)
{
	(void)unwinder, (void)spaces, (void)pid, (void)image, (void)ret, (void)max;
	return 0;
}

#endif
