/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program without a C library whose every instruction is known (x86-64, Linux). tests/unit/profile_counts.c has
 * the sums of what is written here: instructions, taken branches, accesses.
 */
	.globl _start
	.text
_start:
	/* 1: 5,000 times a branch that alternates and a nop that it jumps over: 5 or 4 instructions. */
	mov $5000, %ecx
1:	test $1, %cl
	jz 2f
	nop
2:	dec %ecx
	jnz 1b

	/* 2: 256 lines loaded in turn, 160 times: 4 instructions each, 3 around. */
	mov $160, %edx
3:	lea lines(%rip), %rsi
	mov $256, %ecx
4:	mov (%rsi), %rax
	add $64, %rsi
	dec %ecx
	jnz 4b
	dec %edx
	jnz 3b

	/* 3: 1,000 times a load and store of one place. */
	mov $1000, %ecx
5:	addl $1, lines(%rip)
	dec %ecx
	jnz 5b

	/* 4: 4,096 bytes stored by one instruction, 64 lines. */
	lea lines(%rip), %rdi
	mov $4096, %ecx
	xor %eax, %eax
	rep stosb

	/* 5: 500 calls, with push and pop. */
	mov $500, %ebx
6:	call 7f
	dec %ebx
	jnz 6b

	mov $60, %eax
	xor %edi, %edi
	syscall

7:	push %rbx
	pop %rbx
	ret

	.bss
	.balign 64
lines:	.skip 256 * 64
	.section .note.GNU-stack, "", @progbits
