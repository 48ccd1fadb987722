/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every report of an analysis shares: names for threads, locks and code, findings in words, and
 * figures. Names of code come from whoever can look into program files (a struct code_finder).
 */
#ifndef REPORT_CRITICALITY_VIEW_H
#define REPORT_CRITICALITY_VIEW_H

#include "criticality/results.h"
#include "report/criticality.h"
#include "report/figure.h"

/* Threads beyond the figures' palette are one: "12 others". */
enum { SHOWN_THREADS = 6 };

/* Where the program uses a finding's lock: "update (a.c:4)", empty: not known. */
struct finding_use {
	char *text;
	bool is_holder; /* where who is blamed most took it; else where the first that waited did */
	bool is_parking; /* a runtime parks threads there: the word says nothing of what they wait for */
};

struct criticality_view {
	const struct results *results; /* borrowed */
	const char *subject; /* borrowed */
	char **threads; /* a label for each thread of the results */
	char **locks;
	/* The first of them, that somebody waited for or is blamed for; all if none is. */
	size_t lock_rows;
	/* What is shown: threads, or groups of them where results_merge() made these. */
	const struct result_thread *rows; /* borrowed */
	size_t row_count;
	char **labels; /* of each row */
	bool *is_own_routine; /* of each row: no library's start of all threads */
	char **routines; /* function where each row's threads started; NULL where unknown */
	struct code_label *sites;
	size_t site_count;
	/* Waits by whose ends the program went on when no thread was active: "I/O in load (a.c:3)", the longest first. */
	struct code_label *idles;
	size_t idle_count;
	struct code_label
		*most_alone; /* what ran most while only one thread was active; NULL: not known */
	struct finding_use *uses; /* for each finding */
	char **findings; /* a sentence or two for each finding */
	bool failed;
};

/* A line of code as people call it. */
struct code_label {
	char *text; /* "work (pipe.c:42)", "libx.so+0x1234", "0x7f..." */
	const char *kind; /* of idles: what is waited for */
	char *function; /* NULL: unknown, as are the next two */
	char *file;
	uint32_t line;
	uint64_t blame_ns; /* of all addresses on this line; by samples: in this function */
	uint64_t alone_ns; /* the part in which no other thread was active; by samples only */
	bool is_code; /* else: what is known of no code */
	bool is_system; /* a library's own, that comes with a language or the system */
	uint64_t line_ns; /* by samples: of the one line that is named, the function's hottest */
	uint64_t address; /* on that line, in process `pid` */
	uint32_t pid;
	uint64_t
		alone_address; /* which of its addresses ran most while no other thread was active */
	uint64_t alone_here_ns; /* for so long */
	char *alone_text; /* that line, in what the compiler put it into; NULL as `callers` */
	char *callers; /* of what ran most while only one thread was active: "main > run > "; NULL: unknown */
};

/* Labels with the same text become one, then most blame first; how many are left. */
size_t code_labels_merge(struct code_label *labels, size_t count);
void code_label_release(struct code_label *label);

/* Check view->failed. */
void criticality_view_init(struct criticality_view *view, const struct results *results,
	const char *subject, const struct code_finder *finder);
void criticality_view_release(struct criticality_view *view);

/*
 * What the same thread of another run is called, too: "worker-1", "main thread", "work #2" for the second of those that began
 * in work(). Shown where runs are compared. The caller frees it; NULL: it is not among the first, which are shown, or no memory.
 */
char *criticality_role(const struct criticality_view *view, size_t index);

/* The most critical threads: "worker-1 62%, worker-2 13%". */
void criticality_add_shares(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, size_t count);

/* Width of a thread's bottle: how many threads ran, on average, while it did. */
double thread_parallelism(const struct result_thread *thread);

/* The word for what is waited for: "mutex", "barrier". */
const char *what_name(uint8_t what);
/* "thread", "lock", ...: as in JSON. */
const char *finding_name(enum finding_kind kind);
/* What a finding is about: a thread, a lock, or a thread at a barrier. The caller frees it. */
char *finding_subject(const struct criticality_view *view, const struct finding *finding);

/* The findings' sentences (criticality_words.c); sets view->findings. */
void criticality_describe(struct criticality_view *view);

/* Sentences on how good the data are, each ended by a line break. */
void criticality_quality(struct strbuf *out, const struct criticality_view *view);

/* Fill an empty figure; release it afterwards. */
void figure_of_stack(struct figure *figure, const struct criticality_view *view);
void figure_of_bottle(struct figure *figure, const struct criticality_view *view);
void figure_of_strip(struct figure *figure, const struct criticality_view *view);

/* What a thread waited for most, of what counts: "mutex"; "-": nothing. */
const char *criticality_main_wait(const struct result_thread *thread);

#endif
