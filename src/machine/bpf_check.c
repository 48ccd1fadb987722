/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/bpf_check.h"

#include "base/cleanup.h"
#include "base/readfile.h"
#include "machine/capability.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Constant in every kernel (PROC_PID_INIT_INO). */
static const char first_namespace[] = "pid:[4026531836]";

static bool is_privileged(const char *root)
{
	return capability_has(root, CAP_SYS_ADMIN) ||
	       (capability_has(root, CAP_BPF) && capability_has(root, CAP_PERFMON));
}

static bool has_btf(const char *root)
{
	AUTO_FILE FILE *file = readfile_open(root, "/sys/kernel/btf/vmlinux");
	return file != NULL;
}

/* Where that cannot be seen, it is. */
static bool is_first_namespace(const char *root)
{
	char path[PATH_MAX];
	char name[sizeof first_namespace + 8];
	(void)snprintf(path, sizeof path, "%s/proc/self/ns/pid", root); /* cut: not found */
	ssize_t length = readlink(path, name, sizeof name - 1);
	if (length < 0)
		return true;
	name[length] = '\0';
	return strcmp(name, first_namespace) == 0;
}

struct bpf_check bpf_check_read(const char *root)
{
	return (struct bpf_check){
		.is_built = HAVE_BPF,
		.is_privileged = is_privileged(root),
		.has_btf = has_btf(root),
		.is_first_namespace = is_first_namespace(root),
	};
}

const char *bpf_check_mend(const struct bpf_check *check)
{
	if (!check->has_btf)
		return "a kernel with CONFIG_DEBUG_INFO_BTF: sudo apt install linux-image-amd64";
	if (!check->is_built)
		return "sudo apt install libbpf-dev bpftool clang; meson setup --wipe build && "
		       "ninja -C build";
	if (!check->is_privileged)
		return "run as root, or with CAP_BPF and CAP_PERFMON";
	if (!check->is_first_namespace)
		return "run outside the container, or give it the host's process ids (--pid=host)";
	return NULL;
}

int bpf_check(struct err *err)
{
	struct bpf_check check = bpf_check_read("");
	const char *mend = bpf_check_mend(&check);
	if (!mend)
		return 0;
	bool is_forbidden = check.is_built && check.has_btf && !check.is_privileged;
	int code = is_forbidden ? -EPERM : -EOPNOTSUPP;
	const char *what = !check.has_btf    ? "this kernel has no type information (BTF)"
			   : !check.is_built ? "this build has no BPF programs"
			   : is_forbidden    ? "not allowed to load BPF programs"
					     : "process ids here are not the kernel's";
	return err_set(err, code, "cannot watch the scheduler: %s; mend: %s", what, mend);
}
