/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/rapl.h"

#include "base/readfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS_MAX = 64 };

struct domain {
	char file[64]; /* its counter */
	double last_uj, range_uj;
};

struct rapl {
	char *root;
	struct domain domains[DOMAINS_MAX];
	size_t count;
	double joules;
};

void rapl_free(struct rapl *rapl)
{
	if (!rapl)
		return;
	free(rapl->root);
	free(rapl);
}

/* 1: a package; 0: another domain (psys has the packages in it); -errno. */
static int open_domain(const char *root, unsigned number, struct domain *ret)
{
	char file[64], name[32];
	(void)snprintf(file, sizeof file, "/sys/class/powercap/intel-rapl:%u/name", number);
	int code = readfile_line(root, file, name, sizeof name);
	if (code < 0)
		return code;
	if (strncmp(name, "package", 7) != 0)
		return 0;
	(void)snprintf(
		file, sizeof file, "/sys/class/powercap/intel-rapl:%u/max_energy_range_uj", number);
	ret->range_uj = 0;
	(void)readfile_number(root, file, &ret->range_uj); /* without it no wrap is seen */
	(void)snprintf(
		ret->file, sizeof ret->file, "/sys/class/powercap/intel-rapl:%u/energy_uj", number);
	code = readfile_number(root, ret->file, &ret->last_uj);
	return code < 0 ? code : 1;
}

static int open_domains(struct rapl *rapl)
{
	for (unsigned number = 0; number < DOMAINS_MAX; number++) {
		int code = open_domain(rapl->root, number, &rapl->domains[rapl->count]);
		if (code == -ENOENT)
			break;
		if (code < 0)
			return code;
		rapl->count += (size_t)code;
	}
	return rapl->count > 0 ? 0 : -ENOENT;
}

int rapl_new(const char *root, struct rapl **ret, struct err *err)
{
	AUTO(rapl) struct rapl *rapl = calloc(1, sizeof *rapl);
	if (rapl)
		rapl->root = strdup(root);
	if (!rapl || !rapl->root)
		return err_set(err, -ENOMEM, "out of memory");
	int code = open_domains(rapl);
	if (code == -EACCES || code == -EPERM)
		return err_set(err, -EACCES,
			"energy can be read by root only: sudo chmod a+r "
			"/sys/class/powercap/intel-rapl:*/energy_uj");
	if (code < 0)
		return err_set(err, -EOPNOTSUPP, "this machine has no energy counters (RAPL)");
	*ret = TAKE(rapl);
	return 0;
}

size_t rapl_packages(const struct rapl *rapl)
{
	return rapl->count;
}

int rapl_read(struct rapl *rapl, double *ret_j)
{
	for (size_t i = 0; i < rapl->count; i++) {
		struct domain *domain = &rapl->domains[i];
		double now_uj;
		int code = readfile_number(rapl->root, domain->file, &now_uj);
		if (code < 0)
			return code;
		double passed_uj = now_uj - domain->last_uj;
		if (passed_uj < 0)
			passed_uj += domain->range_uj;
		rapl->joules += 1e-6 * passed_uj;
		domain->last_uj = now_uj;
	}
	*ret_j = rapl->joules;
	return 0;
}
