/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calls.h"

#include "hash.h"
#include "symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { TABLE_BITS = 8, TABLE = 1 << TABLE_BITS, CALLS_MAX = TABLE / 2 };

/* The order of the guest's registers in its state. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

struct watched {
	uint64_t address; /* in the file; 0: free */
	const struct events_function *function;
};

static struct {
	struct events_program program; /* path NULL: nothing is watched */
	struct watched table[TABLE];
	unsigned count;
	uint64_t entry; /* where the program begins, in the file */
	const char *memory; /* where the emulator has the guest's address 0 */
	bool is_placed; /* bias and memory are known */
} calls;

static void watch(const char *name, uint64_t address, void *unused)
{
	(void)unused;
	const struct events_function *function = events_function(name);
	if (!function || address == 0 || calls.count >= CALLS_MAX)
		return;
	uint32_t at = hash_bits(address, TABLE_BITS);
	while (calls.table[at].address && calls.table[at].address != address)
		at = (at + 1) % TABLE;
	calls.count += !calls.table[at].address;
	calls.table[at] = (struct watched){ address, function };
}

static uint64_t end_of(const struct symbols *symbols, const Elf64_Ehdr *header)
{
	const Elf64_Phdr *parts =
		symbols_part(symbols, header->e_phoff, header->e_phnum, sizeof(*parts));
	uint64_t end = 0;
	for (uint32_t i = 0; parts && i < header->e_phnum; i++) {
		uint64_t behind = parts[i].p_vaddr + parts[i].p_memsz;
		if (parts[i].p_type == PT_LOAD && behind > end)
			end = behind;
	}
	return end;
}

int calls_watch(const char *program)
{
	struct symbols symbols = symbols_map(program);
	const Elf64_Ehdr *header = symbols_header(&symbols);
	if (header) {
		calls.program.path = program;
		calls.entry = header->e_entry;
		calls.program.end = end_of(&symbols, header);
		(void)symbols_visit(&symbols, watch, NULL); /* without any it has one thread */
	}
	symbols_unmap(&symbols);
	return header ? 0 : -1;
}

int calls_timeline(const char *path)
{
	calls.program.timeline = path;
	return 0;
}

void calls_page(const char *path)
{
	calls.program.page = path;
}

bool calls_are_watched(void)
{
	return calls.program.path;
}

void calls_forked(void)
{
	calls.program.path = NULL;
	for (unsigned i = 0; i < VCPUS; i++)
		vcpu_table[i].mode &= ~(uint32_t)VCPU_CALLED;
}

static uint64_t word_at(uint64_t address)
{
	uint64_t word = 0;
	memcpy(&word, calls.memory + address, sizeof(word));
	return word;
}

static __attribute__((used)) void enter_call(
	unsigned index, const struct watched *watched, const uint64_t *registers)
{
	struct vcpu *vcpu = &vcpu_table[index % VCPUS];
	vcpu->registers = registers;
	if (!vcpu->thread || vcpu->mode & (VCPU_CALLED | VCPU_IGNORED) || !calls_are_watched())
		return;
	const uint64_t arguments[] = { registers[RDI], registers[RSI], registers[RDX],
		registers[RCX] };
	uint64_t site = word_at(registers[RSP]);
	if (!events_enter(watched->function, arguments, calls.memory, site))
		return;
	vcpu->returns_to = site;
	vcpu->mode |= VCPU_CALLED;
	vcpu->slot->look_at = 0;
}

/* Called by the emulator's code: a third argument, where it has the guest's state. */
static __attribute__((naked)) void on_call(
	unsigned index __attribute__((unused)), void *userdata __attribute__((unused)))
{
	__asm__("movq %rbp, %rdx\n\tjmp enter_call");
}

void calls_look(struct vcpu *vcpu, const struct block *block)
{
	if (block->address != vcpu->returns_to)
		return;
	vcpu->mode &= ~(uint32_t)VCPU_CALLED;
	events_return(vcpu->registers[RAX]);
}

void calls_translate(struct qemu_plugin_tb *tb)
{
	if (!calls_are_watched())
		return;
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	if (!calls.is_placed) {
		/* The first block is the program's first: nothing else is loaded. */
		const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
		calls.program.bias = address - calls.entry;
		calls.program.end += calls.program.bias;
		calls.memory = (const char *)qemu_plugin_insn_haddr(first) - address;
		calls.is_placed = true;
	}
	uint64_t in_file = address - calls.program.bias;
	uint32_t at = hash_bits(in_file, TABLE_BITS);
	while (calls.table[at].address && calls.table[at].address != in_file)
		at = (at + 1) % TABLE;
	if (calls.table[at].address)
		qemu_plugin_register_vcpu_tb_exec_cb(
			tb, on_call, QEMU_PLUGIN_CB_R_REGS, &calls.table[at]);
}

struct events_birth calls_birth(void)
{
	return calls_are_watched() && calls.is_placed ? events_birth() : (struct events_birth){ 0 };
}

uint64_t calls_thread_start(struct vcpu *vcpu)
{
	static bool is_attached;
	if (!calls_are_watched())
		return PROFILE_SLOTS;
	if (is_attached)
		events_thread_start(vcpu->birth);
	else
		is_attached = events_attach(&calls.program);
	return is_attached ? events_slot() : PROFILE_SLOTS;
}

static void check_registers(const struct vcpu *vcpu, uint64_t a1, uint64_t a2)
{
	if (!vcpu->registers || (vcpu->registers[RDI] == a1 && vcpu->registers[RSI] == a2))
		return;
	(void)fprintf(stderr, "corecast: this emulator has the program's registers elsewhere than "
			      "QEMU 7.2: static programs cannot be profiled in it\n");
	_exit(125);
}

void calls_syscall(struct vcpu *vcpu, int64_t number, uint64_t a1, uint64_t a2)
{
	if (!calls_are_watched() || !vcpu->thread)
		return;
	check_registers(vcpu, a1, a2);
	if (number == SYS_exit)
		events_thread_end();
	else if (number == SYS_exit_group)
		events_process_end();
}
