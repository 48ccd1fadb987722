/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Valgrind tool that tells which blocks a program executes and which addresses they access (stream.h). It counts
 * instructions where the preload library in the program reads them, and does nothing else: what the stream means
 * is for the reader, which is the QEMU plugin fed from here (feed.c).
 *
 * Valgrind runs one thread at a time and changes seldom; here it changes every TURN instructions, as threads of the
 * emulator wait for one another (plugin/pace.h), so that the accesses of threads mix as they would on cores.
 */
#include <pub_tool_basics.h>
#include <pub_tool_guest.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcfile.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_options.h>
#include <pub_tool_tooliface.h>
#include <pub_tool_vki.h>

#include "preload/profile_page.h"
#include "stream.h"

enum {
	WORDS = 1 << 15, /* in the buffer: 256 KiB */
	MARGIN = 4096, /* more than one block and its description need */
	THREADS = 501, /* VG_N_THREADS is 500 by default, the first is 1 */
	TURN = 10000, /* a change takes 10 us and more */
	PRCTL = 157,
	EXECVE = 59, /* system calls */
	DESCRIPTOR = 999, /* of the stream: out of the program's way */
};

struct known_block {
	ULong number;
	UWord most; /* words that one execution adds */
	UWord instructions;
};

struct thread {
	struct profile_slot *slot; /* in the program's memory; NULL: it has told none */
	ULong stretch; /* that the stream was told */
	ULong instructions; /* until it had a slot */
	Bool is_known;
};

static const HChar *path;
static Int stream = -1;
static ULong buffer[WORDS + MARGIN], scratch[MARGIN];
/* Where the next word goes. While nothing is counted it goes to `scratch`, and `kept` is where it will go on. */
static ULong *next = buffer, *kept;
static struct thread threads[THREADS];
static struct thread *running = &threads[1];
static ThreadId told; /* thread that the stream is at */
static const struct profile_page *page; /* in the program's memory; NULL: it has shown none */
static ULong block_count;
static UWord turn; /* instructions */

static void flush(void)
{
	const HChar *from = (const HChar *)buffer;
	SizeT left = (SizeT)(next - buffer) * sizeof(*buffer);
	while (stream >= 0 && left > 0) {
		Int done = VG_(write)(stream, from, left > 1 << 20 ? 1 << 20 : (Int)left);
		if (done == -VKI_EINTR)
			continue;
		if (done <= 0) {
			stream = -1; /* nobody reads any more */
			break;
		}
		from += done;
		left -= (SizeT)done;
	}
	next = buffer;
}

static void resume_counting(void)
{
	if (kept)
		next = kept;
	kept = NULL;
}

static void pause_counting(void)
{
	if (!kept)
		kept = next;
	next = scratch;
}

static void put(enum stream_kind kind, ULong value)
{
	*next++ = (ULong)kind << STREAM_SHIFT | value;
}

/* Tells something rare, also while nothing is counted. */
static void tell(ThreadId tid, enum stream_kind kind, ULong value)
{
	Bool was_paused = kept != NULL;
	resume_counting();
	if (next > buffer + WORDS)
		flush();
	if (tid != told)
		put(STREAM_THREAD, tid);
	told = tid;
	put(kind, value);
	if (was_paused)
		pause_counting();
}

static VG_REGPARM(2) void enter_block(struct known_block *block, VexGuestAMD64State *guest)
{
	turn += block->instructions;
	if (turn >= TURN) {
		turn = 0;
		guest->host_EvC_COUNTER = 0; /* back to the scheduler, which lets another run */
	}
	struct thread *thread = running;
	ULong stretch = thread->slot ? thread->slot->stretch : PROFILE_START;
	if (stretch == PROFILE_NOT_COUNTED) {
		pause_counting();
		return;
	}
	resume_counting();
	if (next > buffer + WORDS - block->most)
		flush();
	if (stretch != thread->stretch) {
		put(STREAM_STRETCH, 0);
		*next++ = stretch;
		thread->stretch = stretch;
	}
	put(STREAM_EXECUTE, block->number);
	if (thread->slot)
		thread->slot->instructions += block->instructions;
	else
		thread->instructions += block->instructions;
}

/* Adds to `out`: *next++ = kind, index, address; only if `guard` is true, where there is one. */
static void add_access(
	IRSB *out, enum stream_kind kind, UWord index, IRExpr *address, IRExpr *guard)
{
	IRExpr *place = mkIRExpr_HWord((HWord)&next);
	IRTemp at = newIRTemp(out->tyenv, Ity_I64), word = newIRTemp(out->tyenv, Ity_I64);
	IRTemp step = newIRTemp(out->tyenv, Ity_I64), after = newIRTemp(out->tyenv, Ity_I64);
	ULong tag = (ULong)kind << STREAM_SHIFT | (ULong)index << STREAM_INDEX_SHIFT;
	addStmtToIRSB(out, IRStmt_WrTmp(at, IRExpr_Load(Iend_LE, Ity_I64, place)));
	addStmtToIRSB(out, IRStmt_WrTmp(word, IRExpr_Binop(Iop_Or64, address,
						      IRExpr_Const(IRConst_U64(tag)))));
	addStmtToIRSB(out, IRStmt_Store(Iend_LE, IRExpr_RdTmp(at), IRExpr_RdTmp(word)));
	IRExpr *size = IRExpr_Const(IRConst_U64(sizeof(ULong)));
	if (guard) {
		IRExpr *none = IRExpr_Const(IRConst_U64(0));
		addStmtToIRSB(out, IRStmt_WrTmp(step, IRExpr_ITE(guard, size, none)));
		size = IRExpr_RdTmp(step);
	}
	addStmtToIRSB(out, IRStmt_WrTmp(after, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(at), size)));
	addStmtToIRSB(out, IRStmt_Store(Iend_LE, place, IRExpr_RdTmp(after)));
}

/* Words for what a statement accesses; adds to `out` unless it is NULL. */
static UWord add_accesses(IRSB *out, const IRStmt *statement, UWord index)
{
	IRExpr *load = NULL, *store = NULL, *guard = NULL;
	switch (statement->tag) {
	case Ist_WrTmp:
		if (statement->Ist.WrTmp.data->tag == Iex_Load)
			load = statement->Ist.WrTmp.data->Iex.Load.addr;
		break;
	case Ist_Store:
		store = statement->Ist.Store.addr;
		break;
	case Ist_LoadG:
		load = statement->Ist.LoadG.details->addr;
		guard = statement->Ist.LoadG.details->guard;
		break;
	case Ist_StoreG:
		store = statement->Ist.StoreG.details->addr;
		guard = statement->Ist.StoreG.details->guard;
		break;
	case Ist_CAS:
		load = store = statement->Ist.CAS.details->addr;
		break;
	case Ist_Dirty: {
		const IRDirty *dirty = statement->Ist.Dirty.details;
		if (dirty->mFx == Ifx_Read || dirty->mFx == Ifx_Modify)
			load = dirty->mAddr;
		if (dirty->mFx == Ifx_Write || dirty->mFx == Ifx_Modify)
			store = dirty->mAddr;
		break;
	}
	default:
		break;
	}
	if (out && load)
		add_access(out, STREAM_LOAD, index, load, guard);
	if (out && store)
		add_access(out, STREAM_STORE, index, store, guard);
	return (UWord)(load != NULL) + (UWord)(store != NULL);
}

/* Tells what the block is. Its bytes are in the program's memory, at its own addresses. */
static void tell_block(const IRSB *in, ULong number, UWord instructions)
{
	Bool was_paused = kept != NULL;
	resume_counting();
	if (next > buffer + WORDS - instructions * STREAM_CODE_WORDS)
		flush();
	put(STREAM_BLOCK, number);
	*next++ = instructions;
	for (Int i = 0; i < in->stmts_used; i++) {
		const IRStmt *statement = in->stmts[i];
		if (statement->tag != Ist_IMark)
			continue;
		UInt size = statement->Ist.IMark.len < 15 ? statement->Ist.IMark.len : 15;
		ULong bytes[2] = { 0, 0 };
		VG_(memcpy)(bytes, (const void *)statement->Ist.IMark.addr, size);
		((UChar *)bytes)[15] = (UChar)size;
		*next++ = statement->Ist.IMark.addr;
		*next++ = bytes[0];
		*next++ = bytes[1];
	}
	if (was_paused)
		pause_counting();
}

/* The recorder inside the program is not the program. */
static Bool is_recorder(Addr address)
{
	return page && address >= page->recorder_begin && address < page->recorder_end;
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
	const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
	IRType host_word)
{
	(void)layout, (void)extents, (void)host, (void)guest_word, (void)host_word;
	if (is_recorder(closure->nraddr))
		return in;
	UWord instructions = 0, most = 3;
	for (Int i = 0; i < in->stmts_used; i++) {
		instructions += in->stmts[i]->tag == Ist_IMark;
		most += add_accesses(NULL, in->stmts[i], 0);
	}
	if (instructions == 0)
		return in;
	tl_assert(most < MARGIN && instructions * STREAM_CODE_WORDS < MARGIN);
	struct known_block *block = VG_(malloc)("corecast.block", sizeof(*block));
	*block = (struct known_block){ block_count++, most, instructions };
	tell_block(in, block->number, instructions);

	IRSB *out = deepCopyIRSBExceptStmts(in);
	IRDirty *enter = unsafeIRDirty_0_N(2, "enter_block", VG_(fnptr_to_fnentry)(&enter_block),
		mkIRExprVec_2(mkIRExpr_HWord((HWord)block), IRExpr_GSPTR()));
	enter->nFxState =
		1; /* it writes a field that is the host's, which nothing else reads here */
	enter->fxState[0].fx = Ifx_Modify;
	enter->fxState[0].offset = offsetof(VexGuestAMD64State, host_EvC_COUNTER);
	enter->fxState[0].size = sizeof(UInt);
	enter->fxState[0].nRepeats = 0;
	enter->fxState[0].repeatLen = 0;
	UWord index = 0;
	for (Int i = 0; i < in->stmts_used; i++) {
		IRStmt *statement = in->stmts[i];
		addStmtToIRSB(out, statement);
		if (statement->tag == Ist_IMark && index++ == 0)
			addStmtToIRSB(out, IRStmt_Dirty(enter));
		if (index > 0)
			(void)add_accesses(out, statement, index - 1);
	}
	return out;
}

static void on_client_code(ThreadId tid, ULong blocks)
{
	(void)blocks;
	if (tid >= THREADS)
		return;
	running = &threads[tid];
	if (!running->is_known) {
		running->is_known = True;
		running->stretch = PROFILE_NOT_COUNTED;
		tell(tid, STREAM_START, tid);
	} else if (tid != told) {
		tell(tid, STREAM_THREAD, tid);
	}
}

static void on_thread_exit(ThreadId tid)
{
	if (tid >= THREADS || !threads[tid].is_known)
		return;
	tell(tid, STREAM_EXIT, tid);
	threads[tid] = (struct thread){ NULL, 0, 0, False };
}

static void take_slot(ThreadId tid, UWord number, struct profile_slot *slot)
{
	struct thread *thread = &threads[tid];
	Bool has_slot = number < PROFILE_SLOTS;
	thread->slot = has_slot ? slot : NULL;
	thread->stretch = PROFILE_NOT_COUNTED; /* as its new slot says for the reader */
	if (has_slot) {
		slot->instructions = thread->instructions;
		page = (const struct profile_page *)((Addr)(slot - number) -
						     offsetof(struct profile_page, slots));
	}
	tell(tid, STREAM_SLOT, number);
	resume_counting();
	*next++ = has_slot ? (ULong)slot->pid << 32 | slot->tid : 0;
}

static void on_syscall(ThreadId tid, UInt number, UWord *arguments, UInt count)
{
	if (number == PRCTL && count >= 3 && arguments[0] == PROFILE_PRCTL &&
		arguments[1] <= PROFILE_SLOTS && tid < THREADS)
		take_slot(tid, arguments[1], (struct profile_slot *)arguments[2]);
	if (number == EXECVE) {
		tell(tid, STREAM_EXEC, 0);
		resume_counting();
		flush();
	}
}

static void on_syscall_return(
	ThreadId tid, UInt number, UWord *arguments, UInt count, SysRes result)
{
	(void)tid, (void)number, (void)arguments, (void)count, (void)result;
}

/* The child of a fork is another program's beginning: it is not told of. */
static void on_fork(ThreadId tid)
{
	(void)tid;
	if (stream >= 0)
		VG_(close)(stream);
	stream = -1;
}

static Bool take_option(const HChar *option)
{
	return VG_STR_CLO(option, "--stream", path) ? True : False;
}

static void print_usage(void)
{
	VG_(printf)("    --stream=FILE             where to write what is executed\n");
}

static void print_debug_usage(void)
{
}

static void begin(void)
{
	if (!path)
		VG_(fmsg_bad_option)("--stream", "a file is needed\n");
	Int fd = VG_(fd_open)(path, VKI_O_WRONLY, 0);
	if (fd < 0)
		VG_(fmsg_bad_option)("--stream", "%s cannot be opened\n", path);
	SysRes moved = VG_(dup2)(fd, DESCRIPTOR);
	stream = sr_isError(moved) ? fd : DESCRIPTOR;
	if (stream != fd)
		VG_(close)(fd);
}

static void finish(Int code)
{
	(void)code;
	tell(told, STREAM_END, 0);
	resume_counting();
	flush();
}

static void before_options(void)
{
	VG_(details_name)("corecast");
	VG_(details_version)(NULL);
	VG_(details_description)("tells corecast what a program executes");
	VG_(details_copyright_author)("Part of corecast, GPL-2.0-or-later.");
	VG_(details_bug_reports_to)("corecast");
	VG_(basic_tool_funcs)(begin, instrument, finish);
	VG_(needs_command_line_options)(take_option, print_usage, print_debug_usage);
	VG_(needs_syscall_wrapper)(on_syscall, on_syscall_return);
	VG_(track_start_client_code)(on_client_code);
	VG_(track_pre_thread_ll_exit)(on_thread_exit);
	VG_(atfork)(NULL, NULL, on_fork);
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
