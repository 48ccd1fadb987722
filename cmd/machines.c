/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machines.h"

#include "base/cleanup.h"
#include "base/datadir.h"
#include "uarch/profile_store.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MACHINE_BYTES_MAX = 1 << 20 };
static const size_t PROFILE_BYTES_MAX = (size_t)8 << 30;

int file_read(const char *path, size_t most, char **ret, size_t *ret_length, struct err *err)
{
	struct stat info;
	AUTO_FILE FILE *in = fopen(path, "re");
	if (!in || fstat(fileno(in), &info) < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (S_ISDIR(info.st_mode))
		return err_set(err, -EISDIR, "cannot read '%s': it is a folder", path);
	if (info.st_size < 0 || (size_t)info.st_size > most)
		return err_set(err, -EFBIG, "'%s' is larger than %zu bytes", path, most);
	size_t size = (size_t)info.st_size;
	AUTO_FREE char *text = malloc(size + 1);
	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	size_t length = fread(text, 1, size, in);
	if (ferror(in))
		return err_set(err, -EIO, "cannot read '%s': %s", path, strerror(errno));
	text[length] = '\0';
	*ret = TAKE(text);
	*ret_length = length;
	return 0;
}

static bool is_file_name(const char *name)
{
	size_t length = strlen(name);
	return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
}

static int find_machine(const char *name, char **ret_path, struct err *err)
{
	AUTO_FREE char *relative = NULL;
	if (asprintf(&relative, "machines/%s.yaml", name) < 0) {
		relative = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	int code = datadir_find(relative, ret_path, err);
	if (code != -ENOENT)
		return code;
	AUTO_FREE char *folder = NULL;
	if (datadir_find("machines/base.yaml", &folder, err) < 0)
		return code;
	char *slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	return err_set(err, -ENOENT,
		"there is no machine '%s': those that come with corecast are in '%s', any other is "
		"named by its file (FILE.yaml)",
		name, folder);
}

int machine_load(const char *name, struct processor *ret, struct err *err)
{
	AUTO_FREE char *path = NULL, *text = NULL;
	size_t length = 0;
	int code = is_file_name(name) ? 0 : find_machine(name, &path, err);
	if (code == 0)
		code = file_read(path ? path : name, MACHINE_BYTES_MAX, &text, &length, err);
	return code < 0 ? code : processor_parse(path ? path : name, text, length, ret, err);
}

int profile_load(const char *path, struct profile *ret, struct err *err)
{
	AUTO_FREE char *bytes = NULL;
	size_t length = 0;
	int code = file_read(path, PROFILE_BYTES_MAX, &bytes, &length, err);
	return code < 0 ? code : profile_read(bytes, length, path, ret, err);
}
