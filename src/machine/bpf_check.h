/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether this build, this kernel and this user can load our BPF programs. */
#ifndef MACHINE_BPF_CHECK_H
#define MACHINE_BPF_CHECK_H

#include "base/err.h"

#include <stdbool.h>

struct bpf_check {
	bool is_built; /* this build has the programs */
	bool is_privileged; /* CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN */
	bool has_btf; /* the kernel describes its types */
	bool is_first_namespace; /* process ids are those that the kernel uses */
};

/* Looks below `root`: "" for the machine itself. */
struct bpf_check bpf_check_read(const char *root);

/*
 * 0 if our programs can be loaded; -EOPNOTSUPP (build, kernel, namespace), -EPERM. err says what
 * is missing and what gives it.
 */
int bpf_check(struct err *err);

/* What the text of a finding says about the first thing that is missing; NULL: nothing is. */
const char *bpf_check_mend(const struct bpf_check *check);

#endif
