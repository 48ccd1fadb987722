/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/vdso.h"

#include "base/cleanup.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

bool vdso_is(const char *path)
{
	return strcmp(path, "[vdso]") == 0 ||
	       strncmp(path, "linux-vdso", strlen("linux-vdso")) == 0;
}

/* Its section headers are the last part of an ELF image. */
int vdso_open(void)
{
	const ElfW(Ehdr) *elf = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	if (!elf)
		return -ENOENT;
	size_t bytes = elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;
	AUTO_FD int fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, elf, bytes) != (ssize_t)bytes)
		return -EIO;
	int handed_over = fd;
	fd = -1;
	return handed_over;
}
