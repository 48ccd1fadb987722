/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usdt FILE WORD: passes two static probes, as <sys/sdt.h> writes them, until the file has the word in it; the second
 * one, which is there twice, only while somebody listens. Says so in the end if it was ever passed.
 */
#include "has_word.h"

#include <stdbool.h>
#include <stdio.h>

/* The note of systemtap's wiki: place, base and semaphore, provider, name, arguments. */
#define PROBE(name, semaphore)                                                                     \
	__asm__ volatile("990: nop\n"                                                              \
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"                             \
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"                             \
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"                               \
			 "993: .8byte 990b, _.stapsdt.base, " semaphore "\n"                       \
			 ".asciz \"corecast_test\"\n.asciz \"" name "\"\n.asciz \"\"\n"            \
			 "994: .balign 4\n.popsection\n"                                           \
			 ".ifndef _.stapsdt.base\n"                                                \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"   \
			 ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                          \
			 "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif")

__attribute__((section(".probes"), used)) volatile unsigned short corecast_test_listened;

int main(int argc, char **argv)
{
	bool was_listened = false;
	if (argc != 3)
		return 2;
	while (!has_word(argv[1], argv[2])) {
		PROBE("always", "0");
		if (!corecast_test_listened)
			continue;
		was_listened = true;
		PROBE("listened", "corecast_test_listened");
		PROBE("listened", "corecast_test_listened");
	}
	if (was_listened)
		puts("listened");
	return 0;
}
