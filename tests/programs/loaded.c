/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loads a library, has its threads wait for its lock, and unloads it; then so with another one, and with both at
 * once. No thread ends between the last use of a library and its end.
 */
#include "hold.h"

#include <dlfcn.h>
#include <string.h>

static void *open_plugin(const char *program, const char *name)
{
	char path[4096];
	const char *slash = strrchr(program, '/');
	snprintf(path, sizeof path, "%.*s/%s", (int)(slash - program), program, name);
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	check(plugin != NULL, path);
	return plugin;
}

static void run(void *plugin, const char *name)
{
	int (*plugin_run)(void) = (int (*)(void))dlsym(plugin, "plugin_run");
	check(plugin_run != NULL, "dlsym");
	printf("%s: %d\n", name, plugin_run());
}

int main(int argc, char **argv)
{
	(void)argc;
	for (int i = 0; i < 2; i++) {
		const char *name = i == 0 ? "first_plugin.so" : "second_plugin.so";
		void *plugin = open_plugin(argv[0], name);
		run(plugin, name);
		printf("dlclose: %d\n", dlclose(plugin));
	}
	void *first = open_plugin(argv[0], "first_plugin.so");
	void *second = open_plugin(argv[0], "second_plugin.so");
	run(first, "first again");
	printf("dlclose: %d\n", dlclose(first));
	run(second, "second again");
	printf("dlclose: %d\n", dlclose(second));
	printf("none: %d\n", dlopen("/no/such/library.so", RTLD_NOW) == NULL);
	return 5;
}
