/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel lets us load, and what this build was made with. */
#include "doctor/doctor_checks.h"

#include "base/datadir.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "machine/bpf_check.h"
#include "record/bpf_watch.h"
#include "record/profiler.h"
#include "record/profiler_backend.h"
#include "steer/favour.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void doctor_check_bpf(const struct doctor_place *place, struct doctor_finding *finding)
{
	struct bpf_check check = bpf_check_read(place->root);
	DOCTOR_SAY(finding->summary, "%s, %s%s%s",
		check.is_privileged ? "privilege" : "no privilege",
		check.has_btf ? "BTF" : "no BTF",
		check.is_first_namespace ? "" : ", process ids of a container",
		check.is_built ? "" : ", not in this build");
	DOCTOR_SAY(finding->detail, "programs at tracepoints with types (tp_btf), task iterators");
	const char *mend = bpf_check_mend(&check);
	AUTO(bpf_watch) struct bpf_watch *watch = NULL;
	struct err err;
	/* A kernel may refuse what its version should have: ours are loaded, of which nothing is left. */
	if (!mend && !*place->root &&
		bpf_watch_open(&(struct bpf_watch_opts){ .pid = getpid() }, &watch, &err) < 0) {
		DOCTOR_SAY(finding->summary, "%s", err.text);
		mend = "another kernel, or no lockdown of this one (dmesg)";
	}
	if (!mend)
		return;
	finding->status = DOCTOR_MISSING;
	DOCTOR_SAY(finding->lost, "recording static and running programs, corecast top");
	DOCTOR_SAY(finding->instead, "the preload library and /proc");
	DOCTOR_SAY(finding->command, "%s", mend);
}

void doctor_check_boost(const struct doctor_place *place, struct doctor_finding *finding)
{
	AUTO_RELEASE(strbuf) struct strbuf there = { 0 }, lost = { 0 };
	bool is_forbidden = false;
	for (const struct favour_method *const *m = favour_methods; *m; m++) {
		char reason[FAVOUR_REASON_BYTES] = "";
		int code = (*m)->check(place->root, reason);
		is_forbidden |= code == -EPERM;
		if (code == 0)
			strbuf_addf(&there, "%s%s", there.length > 0 ? ", " : "", (*m)->name);
		else
			strbuf_addf(
				&lost, "%s%s: %s", lost.length > 0 ? "; " : "", (*m)->name, reason);
	}
	DOCTOR_SAY(finding->summary, "by %s", there.length > 0 ? there.text : "nothing");
	DOCTOR_SAY(finding->detail, "corecast boost --set METHOD");
	if (lost.length == 0)
		return;
	finding->status = there.length > 0 ? DOCTOR_LIMITED : DOCTOR_MISSING;
	DOCTOR_SAY(finding->lost, "%s", lost.text);
	DOCTOR_SAY(finding->instead, "%s",
		there.length > 0 ? there.text : "corecast boost --dry-run, corecast whatif");
	DOCTOR_SAY(finding->command, "%s",
		is_forbidden                     ? "sudo corecast boost"
		: place->machine->cpu.is_virtual ? "run on the host: a guest has no clocks to set"
						 : "sudo modprobe acpi-cpufreq");
}

void doctor_check_profiling(const struct doctor_place *place, struct doctor_finding *finding)
{
	(void)place; /* the same on every machine */
	AUTO_FREE char *emulator = NULL;
	AUTO_FREE char *plugin = NULL;
	bool has_emulator = profiler_find_emulator(&emulator, NULL) == 0;
	bool has_plugin = profiler_find_plugin(&plugin, NULL) == 0;
	bool has_valgrind = profiler_valgrind.check(NULL) == 0;
	DOCTOR_SAY(finding->summary, "%s, %s, %s",
		has_emulator ? "emulator (qemu-user)" : "no emulator",
		has_plugin ? "plugin" : "no plugin in this build",
		has_valgrind ? "Valgrind" : "no Valgrind");
	DOCTOR_SAY(finding->detail, "%s", emulator ? emulator : "qemu-x86_64 is not in PATH");
	if (has_emulator && has_plugin)
		return;
	if (has_plugin && has_valgrind) {
		finding->status = DOCTOR_LIMITED;
		DOCTOR_SAY(finding->lost, "profiles take 2 to 6 times as long");
		DOCTOR_SAY(finding->instead, "Valgrind");
		DOCTOR_SAY(finding->command, "sudo apt install qemu-user");
		return;
	}
	finding->status = DOCTOR_MISSING;
	DOCTOR_SAY(finding->lost, "corecast profile");
	DOCTOR_SAY(finding->instead, "profiles made elsewhere, corecast whatif");
	DOCTOR_SAY(finding->command, "sudo apt install%s%s", has_emulator ? "" : " qemu-user",
		has_plugin ? "" : " libzydis-dev; meson setup --wipe build && ninja -C build");
}

/* One optional part: what is lost without it, and what brings it into a build. */
struct part {
	const char *name;
	bool is_there;
	const char *lost;
	const char *package;
};

static bool is_shipped(const char *relative)
{
	AUTO_FREE char *path = NULL;
	return datadir_find(relative, &path, NULL) == 0;
}

void doctor_check_build(const struct doctor_place *place, struct doctor_finding *finding)
{
	const struct part parts[] = {
		{ "libpfm4", HAVE_PFM, "names of hardware events", "libpfm4-dev" },
		{ "libdw", HAVE_DW, "functions and lines of addresses", "libdw-dev" },
		{ "libiberty", HAVE_DEMANGLE, "names of C++ and Rust", "libiberty-dev" },
		{ "BPF", HAVE_BPF, "watching the scheduler", "libbpf-dev bpftool clang" },
		{ "preload", is_shipped("preload/libcorecast-sync.so"), "lock waits", NULL },
		{ "charts", place->has_charts, "interactive charts in pages", "npm" },
	};
	AUTO_RELEASE(strbuf) struct strbuf there = { 0 }, lost = { 0 }, packages = { 0 };
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct part *part = &parts[i];
		strbuf_addf(&there, "%s%s%s", i > 0 ? ", " : "", part->is_there ? "" : "no ",
			part->name);
		if (part->is_there)
			continue;
		strbuf_addf(&lost, "%s%s", lost.length > 0 ? ", " : "", part->lost);
		if (part->package)
			strbuf_addf(&packages, " %s", part->package);
	}
	DOCTOR_SAY(finding->summary, "%s", there.text ? there.text : "");
	if (lost.length == 0)
		return;
	finding->status = DOCTOR_LIMITED;
	DOCTOR_SAY(finding->lost, "%s", lost.text ? lost.text : "");
	DOCTOR_SAY(finding->instead, "codes, addresses, static figures");
	if (packages.length > 0)
		DOCTOR_SAY(finding->command,
			"sudo apt install%s; meson setup --wipe build && ninja -C build",
			packages.text ? packages.text : "");
	else
		DOCTOR_SAY(finding->command, "ninja -C build");
}
