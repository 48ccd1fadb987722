/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/preloadable.h"

#include "base/cleanup.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	SCRIPT_DEPTH = 4, /* interpreters that are scripts: as far as the kernel goes */
	HEAD_BYTES = 4096, /* the ELF header, and nearly always its program headers */
	PROGRAM_HEADERS_MAX = 128,
};

struct head {
	unsigned char bytes[HEAD_BYTES];
	size_t length;
};

/* 0, or why execve() would refuse it whatever is in it. */
static int check_runnable(const char *path)
{
	struct stat info;
	if (access(path, X_OK) < 0 || stat(path, &info) < 0)
		return -errno;
	return S_ISDIR(info.st_mode) ? -EISDIR : 0;
}

static int find_path(const char *path, char ret[PATH_MAX], struct err *err)
{
	if (snprintf(ret, PATH_MAX, "%s", path) >= PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "the program's path is too long");
	int code = check_runnable(path);
	return code < 0 ? err_set(err, -ENOENT, "cannot run '%s': %s", path, strerror(-code)) : 0;
}

int preloadable_find(const char *name, char ret[PATH_MAX], struct err *err)
{
	if (strchr(name, '/'))
		return find_path(name, ret, err);
	const char *folders = getenv("PATH");
	for (const char *folder = folders ? folders : "/bin:/usr/bin"; *folder;) {
		int length = (int)strcspn(folder, ":");
		int n = snprintf(
			ret, PATH_MAX, "%.*s/%s", length ? length : 1, length ? folder : ".", name);
		if (n < PATH_MAX && check_runnable(ret) == 0)
			return 0;
		folder += length;
		folder += *folder == ':';
	}
	return err_set(err, -ENOENT, "no program '%s' in PATH; give its path", name);
}

/* The linker ignores LD_PRELOAD where a program gains privileges that its user lacks. */
static int check_privileges(const char *path, int fd, struct err *err)
{
	struct stat info;
	if (fstat(fd, &info) < 0)
		return err_set(err, -errno, "cannot examine '%s': %s", path, strerror(errno));
	bool has_user = (info.st_mode & S_ISUID) && info.st_uid != getuid();
	bool has_group = (info.st_mode & S_ISGID) && info.st_gid != getgid();
	bool has_capabilities = getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
	if (has_user || has_group || has_capabilities)
		return err_set(err, -EACCES,
			"'%s' gains privileges when it starts (%s), so nothing can be preloaded "
			"into it; "
			"measure it without software stalls, run it as the user whose privileges "
			"it takes, "
			"or measure a copy without these rights",
			path,
			has_capabilities ? "file capabilities" : "set-user-ID or set-group-ID");
	return 0;
}

static int check_interpreter(const char *path, int fd, const ElfW(Phdr) * header, struct err *err)
{
	char name[PATH_MAX] = "";
	size_t length = header->p_filesz < sizeof(name) ? header->p_filesz : sizeof(name) - 1;
	if (pread(fd, name, length, (off_t)header->p_offset) != (ssize_t)length)
		return err_set(err, -ENOEXEC, "'%s' is cut short; rebuild or reinstall it", path);
	if (strstr(name, "musl"))
		return err_set(err, -EOPNOTSUPP,
			"'%s' runs on another C library (%s), into which corecast's library cannot "
			"be "
			"loaded; measure it without software stalls",
			path, name);
	return 0;
}

static int check_linked(const char *path, int fd, const ElfW(Ehdr) * elf, struct err *err)
{
	if (elf->e_phnum > PROGRAM_HEADERS_MAX || elf->e_phentsize != sizeof(ElfW(Phdr)))
		return err_set(err, -ENOEXEC, "'%s' has an odd ELF header; rebuild it", path);
	ElfW(Phdr) headers[PROGRAM_HEADERS_MAX];
	size_t bytes = (size_t)elf->e_phnum * sizeof(headers[0]);
	if (pread(fd, headers, bytes, (off_t)elf->e_phoff) != (ssize_t)bytes)
		return err_set(err, -ENOEXEC, "'%s' is cut short; rebuild or reinstall it", path);
	for (size_t i = 0; i < elf->e_phnum; i++)
		if (headers[i].p_type == PT_INTERP)
			return check_interpreter(path, fd, &headers[i], err);
	return err_set(err, -EOPNOTSUPP,
		"'%s' is statically linked, so its waits cannot be seen by a preloaded library; "
		"link it "
		"dynamically, or measure it without software stalls",
		path);
}

static int check_elf(const char *path, int fd, const struct head *head, struct err *err)
{
	ElfW(Ehdr) own = { 0 };
	AUTO_FD int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (self < 0 || pread(self, &own, sizeof(own), 0) != (ssize_t)sizeof(own))
		return err_set(err, -EIO, "cannot read /proc/self/exe; is /proc mounted?");
	ElfW(Ehdr) elf = { 0 };
	if (head->length >= sizeof(elf))
		memcpy(&elf, head->bytes, sizeof(elf));
	if (elf.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || elf.e_machine != own.e_machine)
		return err_set(err, -EOPNOTSUPP,
			"'%s' is built for another architecture than corecast (a 32-bit program, "
			"say); use "
			"a corecast of that architecture, or measure without software stalls",
			path);
	return check_linked(path, fd, &elf, err);
}

/* "#! /usr/bin/env python3": the interpreter is env, which starts python3 with the same
   environment. */
static int read_interpreter(const struct head *head, char ret[PATH_MAX])
{
	const char *line = (const char *)head->bytes + 2;
	const char *end = memchr(line, '\n', head->length - 2);
	size_t rest = end ? (size_t)(end - line) : head->length - 2;
	size_t blank = 0;
	while (blank < rest && (line[blank] == ' ' || line[blank] == '\t'))
		blank++;
	size_t length = 0;
	while (blank + length < rest && !strchr(" \t\r", line[blank + length]))
		length++;
	if (length == 0 || length >= PATH_MAX)
		return -ENOEXEC;
	memcpy(ret, line + blank, length);
	ret[length] = '\0';
	return 0;
}

/* 0 with the interpreter's name when the program is a script, 1 when it is judged fit. */
static int check_file(const char *path, char ret_interpreter[PATH_MAX], struct err *err)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	struct head head = { 0 };
	ssize_t length = pread(fd, head.bytes, sizeof(head.bytes), 0);
	if (length < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	head.length = (size_t)length;
	if (length > 2 && memcmp(head.bytes, "#!", 2) == 0 &&
		read_interpreter(&head, ret_interpreter) == 0)
		return 0;
	if (length < SELFMAG || memcmp(head.bytes, ELFMAG, SELFMAG) != 0)
		return err_set(err, -ENOEXEC, "'%s' is not a program that Linux can run", path);
	int r = check_privileges(path, fd, err);
	if (r == 0)
		r = check_elf(path, fd, &head, err);
	return r < 0 ? r : 1;
}

int preloadable_check_program(const char *program, struct err *err)
{
	char path[PATH_MAX];
	char interpreter[PATH_MAX] = "";
	int r = preloadable_find(program, path, err);
	if (r == 0)
		r = check_file(path, interpreter, err);
	if (r == 0)
		return err_set(err, -ENOEXEC,
			"'%s' is a script, which '%s' runs: name the program that it starts, with "
			"its arguments",
			program, interpreter);
	return r < 0 ? r : 0;
}

int preloadable_check(const char *program, struct err *err)
{
	char path[PATH_MAX];
	int r = preloadable_find(program, path, err);
	for (int depth = 0; r == 0 && depth < SCRIPT_DEPTH; depth++) {
		char interpreter[PATH_MAX] = "";
		r = check_file(path, interpreter, err);
		if (r == 0)
			memcpy(path, interpreter, sizeof(path));
	}
	if (r == 0)
		return err_set(
			err, -ENOEXEC, "'%s': interpreters of interpreters, too deep", program);
	return r < 0 ? r : 0;
}
