/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exec.h"

#include "calls.h"
#include "guest.h"
#include "preload/trace_record.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HEAD_MAX = 64 };

/* This emulator's own arguments in front of its program's path. */
struct head {
	char *texts[HEAD_MAX];
	size_t count;
	size_t name; /* where the program's own name is */
};

/* At an address of the guest: they are the host's where QEMU emulates the host's kind of processor. */
static bool is_readable(const void *address, size_t bytes)
{
	char copy[sizeof(char *)];
	const struct iovec here = { copy, bytes }, there = { (void *)(uintptr_t)address, bytes };
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* How many strings there are up to a NULL; negative: they cannot be read. */
static ptrdiff_t count_texts(char *const *texts)
{
	for (ptrdiff_t count = 0;; count++) {
		if (!is_readable(&texts[count], sizeof *texts))
			return -1;
		if (!texts[count])
			return count;
		if (!is_readable(texts[count], 1))
			return -1;
	}
}

static bool can_be_emulated(const char *path)
{
	Elf64_Ehdr header;
	int fd = access(path, X_OK) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	ssize_t got = read(fd, &header, sizeof header);
	(void)close(fd); /* read only */
	return got == (ssize_t)sizeof header && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64;
}

static void head_release(struct head *head)
{
	for (size_t i = 0; i < HEAD_MAX; i++)
		free(head->texts[i]);
}

/* Up to the last variable that corecast has set for its program: -0 NAME -E A=B ... */
static bool head_read(struct head *head)
{
	FILE *file = fopen("/proc/self/cmdline", "re");
	for (size_t i = 0; file && i < HEAD_MAX && head->count == 0; i++) {
		size_t room = 0;
		if (getdelim(&head->texts[i], &room, '\0', file) < 0)
			break;
		const char *text = head->texts[i];
		if (head->name == 0)
			head->name = i > 0 && strcmp(head->texts[i - 1], "-0") == 0 ? i : 0;
		else if ((i - head->name) % 2 == 1 && strcmp(text, "-E") != 0)
			head->count = i;
	}
	if (file)
		(void)fclose(file); /* read only */
	return head->count > 0;
}

/* What corecast has set the variable of this assignment to; NULL: it has not. */
static const char *value_of(const struct head *head, const char *assignment)
{
	size_t length = strcspn(assignment, "=") + 1;
	for (size_t i = head->name + 2; i < head->count; i += 2)
		if (strncmp(head->texts[i], assignment, length) == 0)
			return head->texts[i] + length;
	return NULL;
}

/* Nothing has been recorded yet. False: others have recorded, too, and go on. */
static bool empty_timeline(const char *path)
{
	struct trace_header header;
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	bool is_ours = pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
		       header.processes <= 1;
	header.chunks_taken = header.lanes_taken = header.processes = 0;
	header.events_lost = 0;
	bool is_empty = is_ours && ftruncate(fd, sizeof header) == 0 &&
			pwrite(fd, &header, sizeof header, 0) == (ssize_t)sizeof header;
	(void)close(fd); /* what matters was written */
	return is_empty;
}

/* The variables that corecast sets are for the program, not for the emulator: they would load its recorder there. */
static void execute(struct head *head, char *path, char **argv, size_t count, char **environment,
	size_t variables)
{
	char **all = calloc(head->count + count + 2, sizeof *all);
	char **others = calloc(variables + 1, sizeof *others);
	if (all && others && empty_timeline(value_of(head, TRACE_PATH_VARIABLE "="))) {
		memcpy(all, head->texts, head->count * sizeof *all);
		all[head->name] = argv[0];
		all[head->count] = path;
		memcpy(all + head->count + 1, argv + 1, (count - 1) * sizeof *all);
		for (size_t i = 0, at = 0; i < variables; i++)
			if (!value_of(head, environment[i]))
				others[at++] = environment[i];
		guest_begin_again();
		(void)execve("/proc/self/exe", all, others); /* else the kernel shall try */
	}
	free(all);
	free(others);
}

void exec_follow(uint64_t path_address, uint64_t argv_address, uint64_t environment_address)
{
	char *path = (char *)(uintptr_t)path_address, **argv = (char **)(uintptr_t)argv_address,
	     **environment = (char **)(uintptr_t)environment_address;
	ptrdiff_t count = count_texts(argv), variables = count_texts(environment);
	if (calls_are_watched() || !guest_is_one_thread() || count < 1 || variables < 0 ||
		!is_readable(path, 1) || !can_be_emulated(path))
		return;
	struct head head = { 0 };
	if (head_read(&head))
		execute(&head, path, argv, (size_t)count, environment, (size_t)variables);
	head_release(&head);
}
