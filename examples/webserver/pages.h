/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers one request: looks the page up, reads it from the disk in chunks and sends them. */
#ifndef WEBSERVER_PAGES_H
#define WEBSERVER_PAGES_H

#include <stddef.h>

enum pages_reading {
	PAGES_DIRECT, /* past the page cache: every chunk is read from the disk */
	PAGES_DROP, /* through the page cache, which forgets the page afterwards */
	PAGES_KEEP, /* through the page cache */
};

struct pages {
	int directory; /* descriptor */
	enum pages_reading reading;
	size_t chunk_bytes;
	unsigned char *chunk; /* aligned for direct reading; one of each worker */
};

/* What one request took: of its response, the look-up and the reading. */
struct pages_times {
	double stat_s, read_s;
};

/* Reads the request and answers it; yields the HTTP status, 0 if the client went away. */
int pages_answer(const struct pages *pages, int connection, struct pages_times *ret);

#endif
