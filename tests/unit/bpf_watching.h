/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of watching from the kernel begin with. */
#ifndef BPF_WATCHING_H
#define BPF_WATCHING_H

#include "cmocka_all.h"

#include "machine/bpf_check.h"
#include "record/bpf_watch.h"

static inline void skip_without_bpf(void)
{
	struct err err = { 0 };
	if (bpf_check(&err) < 0) {
		print_message("%s\n", err.text);
		skip();
	}
}

static inline struct bpf_watch *open_watch(const struct bpf_watch_opts *opts)
{
	struct bpf_watch *watch = NULL;
	struct err err = { 0 };
	if (bpf_watch_open(opts, &watch, &err) < 0)
		fail_msg("%s", err.text);
	return watch;
}

#endif
