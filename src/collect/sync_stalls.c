/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/sync_stalls.h"

#include "preload/record.h"

#include "base/datadir.h"
#include "base/mem.h"
#include "code/preloadable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

static const char *const category_names[] = {
	[SYNC_LOCK] = "lock",
	[SYNC_RWLOCK] = "rwlock",
	[SYNC_SPIN] = "spin",
	[SYNC_BARRIER] = "barrier",
	[SYNC_COND] = "cond",
	[SYNC_SEM] = "sem",
	[SYNC_JOIN] = "join",
	[SYNC_OMP] = "omp",
};

static_assert(ARRAY_SIZE(category_names) == SYNC_KINDS, "one name per kind");
static_assert(SYNC_STALLS_CATEGORIES == (int)SYNC_KINDS, "all kinds are reported");
static_assert(SYNC_STALLS_FRAMES == (int)SYNC_FRAMES, "all frames are reported");

void sync_env_release(struct sync_env *env)
{
	for (size_t i = 0; i < ARRAY_SIZE(env->assignments); i++) {
		free(env->assignments[i]);
		env->assignments[i] = NULL;
	}
}

static int create_file(const char *path, struct err *err)
{
	struct sync_header header = {
		.magic = SYNC_MAGIC,
		.version = SYNC_VERSION,
		.bytes = sizeof(struct sync_file),
	};
	AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "cannot create '%s': %s", path, strerror(errno));
	/* Allocated now: a disk that fills later would kill the program that writes into the map. */
	int r = posix_fallocate(fd, 0, sizeof(struct sync_file));
	if (r != 0)
		return err_set(err, -r, "cannot make room for '%s': %s", path, strerror(r));
	if (pwrite(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return err_set(err, -EIO, "cannot write '%s'", path);
	return 0;
}

/* To what the variable is now, behind a colon; 0 or -ENOMEM, with *ret NULL or to be freed. */
static int add_assignment(char **ret, const char *name, const char *value)
{
	const char *others = getenv(name);
	if (asprintf(ret, "%s=%s%s%s", name, others && *others ? others : "",
		    others && *others ? ":" : "", value) >= 0)
		return 0;
	*ret = NULL;
	return -ENOMEM;
}

int sync_env_make(const char *which, const char *variable, const char *path, struct sync_env *ret,
	struct err *err)
{
	AUTO_FREE char *library = NULL;
	int r = datadir_find(which, &library, err);
	if (r < 0)
		return r;
	if (strpbrk(library, " :"))
		return err_set(err, -EINVAL,
			"LD_PRELOAD cannot carry '%s': move corecast to a path without spaces and "
			"colons",
			library);
	AUTO_FREE char *full = realpath(path, NULL);
	if (!full)
		return err_set(err, -errno, "cannot resolve '%s': %s", path, strerror(errno));
	AUTO_RELEASE(sync_env) struct sync_env env = { 0 };
	r = add_assignment(&env.assignments[0], "LD_PRELOAD", library);
	/* Programs with GCC's AddressSanitizer want its library to come first, and need not have it so. */
	if (r == 0)
		r = add_assignment(&env.assignments[1], "ASAN_OPTIONS", "verify_asan_link_order=0");
	if (r == 0 && asprintf(&env.assignments[2], "%s=%s", variable, full) < 0) {
		env.assignments[2] = NULL;
		r = -ENOMEM;
	}
	if (r < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = env;
	env = (struct sync_env){ 0 };
	return 0;
}

int sync_stalls_prepare(
	const char *program, const char *path, struct sync_env *ret, struct err *err)
{
	int r = program ? preloadable_check(program, err) : 0;
	if (r < 0)
		return r;
	if (r == 0)
		r = create_file(path, err);
	return r < 0 ? r : sync_env_make(PRELOAD_RECORDS, SYNC_PATH_VARIABLE, path, ret, err);
}

static int read_file(const char *path, struct sync_file **ret, struct err *err)
{
	AUTO_FILE FILE *in = fopen(path, "re");
	if (!in)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	AUTO_FREE struct sync_file *file = malloc(sizeof(*file));
	if (!file)
		return err_set(err, -ENOMEM, "out of memory");
	if (fread(file, sizeof(*file), 1, in) != 1 || file->header.magic != SYNC_MAGIC ||
		file->header.version != SYNC_VERSION || file->header.bytes != sizeof(*file))
		return err_set(err, -EINVAL,
			"'%s' does not hold software stalls of this version of corecast; measure "
			"again",
			path);
	*ret = TAKE(file);
	return 0;
}

/* Keeps the places of the file, so that frames find theirs; those without a path stay NULL. */
static int copy_modules(struct sync_file *file, struct sync_stalls *stalls)
{
	stalls->modules = calloc(SYNC_MODULES, sizeof(stalls->modules[0]));
	if (!stalls->modules)
		return -ENOMEM;
	stalls->module_count = SYNC_MODULES;
	for (size_t i = 0; i < SYNC_MODULES; i++) {
		struct sync_module *module = &file->modules[i];
		if (module->slot != SYNC_READY)
			continue;
		stalls->modules[i] = strndup(module->path, sizeof(module->path));
		if (!stalls->modules[i])
			return -ENOMEM;
	}
	return 0;
}

static struct sync_site_stalls copy_site(
	const struct sync_site *site, const struct sync_stalls *stalls)
{
	struct sync_site_stalls ret = {
		.category = site->kind,
		.wait_s = (double)site->wait_ns * 1e-9,
		.waits = site->waits,
		.frame_count = site->frame_count,
	};
	for (size_t i = 0; i < ret.frame_count; i++) {
		uint32_t module = site->frames[i].module;
		ret.frames[i].offset = site->frames[i].offset;
		if (module > 0 && module <= SYNC_MODULES)
			ret.frames[i].module = stalls->modules[module - 1];
	}
	return ret;
}

/* A program that runs wild may have written anything: what does not make sense is left out. */
static bool is_sound(const struct sync_site *site)
{
	return site->slot == SYNC_READY && site->kind < SYNC_KINDS &&
	       site->frame_count <= SYNC_FRAMES;
}

static void add_to_category(struct sync_stalls *stalls, const struct sync_site_stalls *site)
{
	stalls->categories[site->category].total_s += site->wait_s;
	stalls->categories[site->category].waits += site->waits;
}

static int compare_sites(const void *a, const void *b)
{
	const struct sync_site_stalls *left = a;
	const struct sync_site_stalls *right = b;
	if (left->wait_s != right->wait_s)
		return left->wait_s < right->wait_s ? 1 : -1;
	return left->waits < right->waits ? 1 : left->waits > right->waits ? -1 : 0;
}

static bool is_same_place(const struct sync_site_stalls *a, const struct sync_site_stalls *b)
{
	if (a->category != b->category || a->frame_count != b->frame_count)
		return false;
	for (size_t i = 0; i < a->frame_count; i++) {
		const char *left = a->frames[i].module;
		const char *right = b->frames[i].module;
		if (a->frames[i].offset != b->frames[i].offset || !left != !right ||
			(left && strcmp(left, right) != 0))
			return false;
	}
	return true;
}

/* The tables may hold a place twice: record.h tells why. */
static void add_site(struct sync_stalls *stalls, const struct sync_site_stalls *site)
{
	add_to_category(stalls, site);
	for (size_t i = 0; i < stalls->site_count; i++)
		if (is_same_place(&stalls->sites[i], site)) {
			stalls->sites[i].wait_s += site->wait_s;
			stalls->sites[i].waits += site->waits;
			return;
		}
	stalls->sites[stalls->site_count++] = *site;
}

static int copy_sites(struct sync_file *file, struct sync_stalls *stalls)
{
	for (size_t i = 0; i < SYNC_KINDS; i++) {
		stalls->categories[i].name = category_names[i];
		file->sites[i].slot = SYNC_READY; /* elsewhere: implied by their place */
		file->sites[i].kind = (uint32_t)i;
		file->sites[i].frame_count = 0;
	}
	stalls->sites = calloc(SYNC_SITES, sizeof(stalls->sites[0]));
	if (!stalls->sites)
		return -ENOMEM;
	for (size_t i = 0; i < SYNC_SITES; i++) {
		const struct sync_site *site = &file->sites[i];
		if (!is_sound(site) || (site->waits == 0 && site->wait_ns == 0))
			continue;
		struct sync_site_stalls copy = copy_site(site, stalls);
		add_site(stalls, &copy);
	}
	qsort(stalls->sites, stalls->site_count, sizeof(stalls->sites[0]), compare_sites);
	return 0;
}

int sync_stalls_read(const char *path, struct sync_stalls **ret, struct err *err)
{
	AUTO_FREE struct sync_file *file = NULL;
	int r = read_file(path, &file, err);
	if (r < 0)
		return r;
	AUTO(sync_stalls) struct sync_stalls *stalls = calloc(1, sizeof(*stalls));
	if (!stalls || copy_modules(file, stalls) < 0 || copy_sites(file, stalls) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	stalls->processes = file->header.processes;
	stalls->elsewhere_waits = file->header.elsewhere;
	for (size_t i = 0; i < SYNC_OPEN_WAITS; i++)
		stalls->unfinished_waits += file->open[i].owner != 0;
	*ret = TAKE(stalls);
	return 0;
}

void sync_stalls_free(struct sync_stalls *stalls)
{
	if (!stalls)
		return;
	for (size_t i = 0; i < stalls->module_count; i++)
		free(stalls->modules[i]);
	free(stalls->modules);
	free(stalls->sites);
	free(stalls);
}
