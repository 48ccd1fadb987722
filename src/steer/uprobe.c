/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/uprobe.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/readfile.h"

#include <errno.h>
#include <string.h>

#if HAVE_DW
#include "code/demangle.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static void elf_release(Elf **elf)
{
	(void)elf_end(*elf); /* only read */
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

static int open_elf(const char *path, int *ret_fd, Elf **ret, struct err *err)
{
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret_fd < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	(void)elf_version(
		EV_CURRENT); /* must be said once; fails for versions of the future only */
	*ret = elf_begin(*ret_fd, ELF_C_READ, NULL);
	if (!*ret || elf_kind(*ret) != ELF_K_ELF)
		return err_set(err, -ENOEXEC, "'%s' is not an ELF file", path);
	return 0;
}

/* Where the events are to be, as found so far. */
struct places {
	const char *path;
	struct perf_event_attr *events;
	size_t count, capacity;
};

/* semaphore: 0, or where the program looks whether anybody listens. */
static int add_place(struct places *places, uint64_t offset, uint64_t semaphore, struct err *err)
{
	double type;
	for (size_t i = 0; i < places->count; i++)
		if (places->events[i].probe_offset == offset)
			return 0; /* another name of it, or another table's */
	if (readfile_number("", "/sys/bus/event_source/devices/uprobe/type", &type) < 0)
		return err_set(err, -EOPNOTSUPP, "this kernel has no uprobes");
	if (mem_grow(&places->events, &places->capacity, places->count + 1,
		    sizeof *places->events) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	places->events[places->count++] = (struct perf_event_attr){
		.size = sizeof *places->events,
		.type = (uint32_t)type,
		.config = semaphore << 32, /* the kernel's ref_ctr_offset */
		.uprobe_path = (uintptr_t)places->path,
		.probe_offset = offset,
	};
	return 0;
}

/* The caller's are those that were found, or none. */
static int hand_over(
	int code, struct places *places, struct perf_event_attr **ret, size_t *ret_count)
{
	if (code < 0) {
		free(places->events);
		return code;
	}
	*ret = places->events;
	*ret_count = places->count;
	return 0;
}

/* As the linker calls it or as people do; also GCC's copies of it for some arguments. */
static bool is_named(const char *symbol, const char *function)
{
	static const char *const copies[] = { ".constprop.", ".isra." };
	AUTO_FREE char *name = strdup(symbol);
	for (size_t i = 0; name && i < ARRAY_SIZE(copies); i++) {
		char *copy = strstr(name, copies[i]);
		if (copy)
			*copy = '\0';
	}
	if (!name || strcmp(name, function) == 0)
		return name != NULL;
	AUTO_FREE char *readable = demangle(name);
	return readable && strcmp(readable, function) == 0;
}

/* Why a function that the file names has no place in it. */
struct named {
	bool is_chosen, is_imported;
};

static int find_in(Elf *elf, Elf_Scn *section, const char *function, struct places *places,
	struct named *ret, struct err *err)
{
	GElf_Shdr header;
	Elf_Data *data = elf_getdata(section, NULL);
	if (!data || !gelf_getshdr(section, &header) || header.sh_entsize == 0)
		return 0;
	size_t count = header.sh_size / header.sh_entsize;
	int code = 0;
	for (size_t i = 0; i < count && i <= INT32_MAX && code == 0; i++) {
		GElf_Sym symbol;
		uint64_t offset;
		if (!gelf_getsym(data, (int)i, &symbol))
			continue;
		unsigned char type = GELF_ST_TYPE(symbol.st_info);
		const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !name ||
			!is_named(name, function))
			continue;
		ret->is_imported |= symbol.st_shndx == SHN_UNDEF;
		if (symbol.st_value == 0)
			continue;
		ret->is_chosen |= type == STT_GNU_IFUNC;
		if (type == STT_FUNC)
			code = to_offset(elf, symbol.st_value, &offset) < 0
				       ? err_set(err, -ENOEXEC,
						 "'%s' in '%s' is nowhere in the file", function,
						 places->path)
				       : add_place(places, offset, 0, err);
	}
	return code;
}

int uprobe_events(const char *path, const char *function, struct perf_event_attr **ret,
	size_t *ret_count, struct err *err)
{
	AUTO_FD int fd = -1;
	__attribute__((cleanup(elf_release))) Elf *elf = NULL;
	struct places places = { .path = path };
	struct named named = { 0 };
	int code = open_elf(path, &fd, &elf, err);
	for (Elf_Scn *s = NULL; code == 0 && (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;
		if (gelf_getshdr(s, &header) &&
			(header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			code = find_in(elf, s, function, &places, &named, err);
	}
	if (code == 0 && named.is_chosen)
		code = err_set(err, -ENOENT,
			"'%s' of '%s' has several forms, of which each program takes one (IFUNC): "
			"they cannot be counted by that name",
			function, path);
	if (code == 0 && places.count == 0 && named.is_imported)
		code = err_set(err, -ENOENT,
			"'%s' is not in '%s', but in a library that this uses: name that file (ldd "
			"'%s')",
			function, path, path);
	if (code == 0 && places.count == 0)
		code = err_set(err, -ENOENT,
			"'%s' has no function '%s' (nm -DC '%s' shows those of a stripped file)",
			path, function, path);
	return hand_over(code, &places, ret, ret_count);
}

/* What a note says: where the probe is, as linked, and where the linker put the base that it knew. */
struct usdt_note {
	uint64_t place, base, semaphore;
	const char *provider, *name;
};

/* Three addresses of the file's width, then the texts PROVIDER, NAME and ARGUMENTS. */
static bool parse_note(const char *text, size_t size, bool is_wide, struct usdt_note *ret)
{
	size_t width = is_wide ? 8 : 4;
	uint64_t numbers[3] = { 0 };
	if (size <= 3 * width || text[size - 1] != '\0')
		return false;
	for (size_t i = 0; i < 3; i++)
		memcpy(&numbers[i], text + i * width, width); /* our byte order: checked */
	const char *provider = text + 3 * width, *name = provider + strlen(provider) + 1;
	if (name >= text + size)
		return false;
	*ret = (struct usdt_note){ numbers[0], numbers[1], numbers[2], provider, name };
	return true;
}

static Elf_Scn *find_section(Elf *elf, const char *wanted, GElf_Shdr *ret)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		const char *name =
			gelf_getshdr(s, ret) ? elf_strptr(elf, names, ret->sh_name) : NULL;
		if (name && strcmp(name, wanted) == 0)
			return s;
	}
	return NULL;
}

struct usdt_search {
	const char *provider, *name;
	int64_t moved; /* by prelink, since the notes were written */
	struct places places;
};

static bool can_raise(void)
{
	char format[32];
	return readfile_line("", "/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset",
		       format, sizeof format) == 0;
}

static int add_note(
	Elf *elf, const struct usdt_note *note, struct usdt_search *search, struct err *err)
{
	uint64_t offset, semaphore = 0;
	if (to_offset(elf, note->place + (uint64_t)search->moved, &offset) < 0 ||
		(note->semaphore &&
			to_offset(elf, note->semaphore + (uint64_t)search->moved, &semaphore) < 0))
		return err_set(err, -ENOEXEC, "a place of the probe is nowhere in '%s'",
			search->places.path);
	if (semaphore > UINT32_MAX || (semaphore && !can_raise()))
		return err_set(err, -EOPNOTSUPP,
			"probe '%s:%s' has a semaphore, which this kernel cannot raise: Linux 4.20 "
			"can",
			search->provider, search->name);
	return add_place(&search->places, offset, semaphore, err);
}

static int find_places(Elf *elf, struct usdt_search *search, struct err *err)
{
	GElf_Shdr notes, base;
	bool is_wide = gelf_getclass(elf) == ELFCLASS64;
	Elf_Scn *section = find_section(elf, ".note.stapsdt", &notes);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	bool has_base = find_section(elf, ".stapsdt.base", &base) != NULL;
	GElf_Nhdr head;
	size_t name_at, text_at;
	int code = 0;
	for (size_t at = 0; code == 0 && data && at < data->d_size;) {
		struct usdt_note note;
		size_t next = gelf_getnote(data, at, &head, &name_at, &text_at);
		const char *bytes = data->d_buf;
		if (next <= at)
			break; /* damaged */
		at = next;
		if (head.n_type != 3 || head.n_namesz != 8 ||
			memcmp(bytes + name_at, "stapsdt", 8) != 0 ||
			!parse_note(bytes + text_at, head.n_descsz, is_wide, &note) ||
			strcmp(note.provider, search->provider) != 0 ||
			strcmp(note.name, search->name) != 0)
			continue;
		search->moved = has_base ? (int64_t)(base.sh_addr - note.base) : 0;
		code = add_note(elf, &note, search, err);
	}
	return code;
}

int usdt_events(const char *path, const char *provider, const char *name,
	struct perf_event_attr **ret, size_t *ret_count, struct err *err)
{
	AUTO_FD int fd = -1;
	__attribute__((cleanup(elf_release))) Elf *elf = NULL;
	struct usdt_search search = { .places.path = path, .provider = provider, .name = name };
	int code = open_elf(path, &fd, &elf, err);
	if (code < 0)
		return code;
	GElf_Ehdr head;
	bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	if (!gelf_getehdr(elf, &head) || (head.e_ident[EI_DATA] == ELFDATA2LSB) != is_little)
		return err_set(err, -ENOEXEC, "'%s' is for another machine", path);
	code = find_places(elf, &search, err);
	if (code == 0 && search.places.count == 0)
		code = err_set(err, -ENOENT,
			"'%s' has no probe '%s:%s' (readelf -n '%s' shows those that it has)", path,
			provider, name, path);
	return hand_over(code, &search.places, ret, ret_count);
}
#else
int usdt_events(const char *path, const char *provider, const char *name,
	struct perf_event_attr **ret, size_t *ret_count, struct err *err)
{
	(void)provider;
	(void)name;
	(void)ret;
	(void)ret_count;
	return err_set(
		err, -EOPNOTSUPP, "this build cannot look into '%s': it has no elfutils", path);
}

int uprobe_events(const char *path, const char *function, struct perf_event_attr **ret,
	size_t *ret_count, struct err *err)
{
	(void)function;
	(void)ret;
	(void)ret_count;
	return err_set(
		err, -EOPNOTSUPP, "this build cannot look into '%s': it has no elfutils", path);
}
#endif
