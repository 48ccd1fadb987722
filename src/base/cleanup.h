/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scope cleanup: a local is freed where its scope ends, so functions return where they fail.
 *
 *	AUTO_FREE char *name = NULL;		free()
 *	AUTO_FD int fd = -1;			close() if >= 0
 *	AUTO_FILE FILE *file = NULL;		fclose() if not NULL
 *	AUTO(runs) struct runs *runs = NULL;	runs_free(runs)
 *	AUTO_RELEASE(strbuf) struct strbuf s = { 0 };	strbuf_release(&s)
 *
 * TAKE(x) hands a pointer over: yields it and leaves NULL behind.
 * CLEANUP_DEFINE(runs, runs_free) and CLEANUP_DEFINE_RELEASE(strbuf) stand in the type's header.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd); /* read side, or a writer that already checked */
}

static inline void cleanup_file(FILE **file)
{
	if (*file)
		(void)fclose(*file); /* as above */
}

/* unused: clang would report a local that is only there to be freed; gcc does not. */
#define AUTO_FREE __attribute__((cleanup(cleanup_free), unused))
#define AUTO_FD __attribute__((cleanup(cleanup_fd), unused))
#define AUTO_FILE __attribute__((cleanup(cleanup_file), unused))
#define AUTO(name) __attribute__((cleanup(cleanup_##name), unused))
#define AUTO_RELEASE(name) __attribute__((cleanup(name##_release), unused))

#define CLEANUP_DEFINE(name, free_function)                                                        \
	static inline void cleanup_##name(struct name **p)                                         \
	{                                                                                          \
		free_function(*p);                                                                 \
	}

#define TAKE(p)                                                                                    \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#endif
