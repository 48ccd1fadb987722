/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the Valgrind tool tells its reader (feed.c), through a pipe: words of 64 bits, of which the upper four say
 * what they are. Threads run one at a time, so that one stream is the order of all that happened.
 *
 *	STREAM_THREAD 1 | STREAM_BLOCK 7, count, (address, bytes 0-7, bytes 8-14 and the size) x count |
 *	STREAM_EXECUTE 7 | STREAM_LOAD ... | STREAM_STORE ... | STREAM_STRETCH, stretch | STREAM_EXECUTE 8 | ...
 */
#ifndef PLUGIN_VALGRIND_STREAM_H
#define PLUGIN_VALGRIND_STREAM_H

enum stream_kind {
	STREAM_EXECUTE, /* the block of that number, from its first instruction */
	STREAM_LOAD, /* an address (48 bits) and, above it, which instruction of the block (12 bits) */
	STREAM_STORE,
	STREAM_STRETCH, /* the next word is the stretch that the thread is in from here on */
	STREAM_THREAD, /* what follows is of this thread */
	STREAM_START, /* a thread of that number */
	STREAM_EXIT,
	STREAM_SLOT, /* which slot of the page is the thread's own; the next word: its process << 32 | its number */
	STREAM_BLOCK, /* what the block of that number is: see above */
	STREAM_EXEC, /* the program may be another one after this */
	STREAM_END, /* the program came to its end */
};

enum { STREAM_SHIFT = 60, STREAM_INDEX_SHIFT = 48, STREAM_CODE_WORDS = 3 };

#define STREAM_ADDRESS_MASK 0xffffffffffffull

#endif
