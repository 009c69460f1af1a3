/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * first-insns N - call functions that begin with unusual instructions, N times each.
 * first-insns -g | -r - print the names of those that can be probed, or that must be refused.
 *
 * Known: N calls of each; PASS, or FAIL if one of them computed something else.
 */
#include "work.h"

/* Each returns n + 3. */
typedef long function(long n, int *at);

#define FUNCTION(name, code)                                                     \
	function name;                                                           \
	__asm__(".pushsection .text\n.p2align 4\n.globl " #name "\n.type " #name \
		", %function\n" #name ":\n" code "\n.size " #name ", . - " #name "\n.popsection")

#if defined(__x86_64__)
#define RETURN "lea 3(%rdi), %rax\nret"
FUNCTION(f_push_sp, "push %rsp\npop %rax\nsub %rsp, %rax\nlea 3(%rdi, %rax), %rax\nret");
FUNCTION(f_nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0\n" RETURN);
FUNCTION(f_jump, "jmp 1f\nud2\n1: " RETURN);
FUNCTION(f_branch, "jne 1f\nnop\n1: " RETURN);
FUNCTION(f_loop, "loop 1f\nnop\n1: " RETURN);
FUNCTION(f_call, "call 1f\nret\n1: " RETURN);
FUNCTION(f_relative, "mov 1f(%rip), %rax\nadd %rdi, %rax\nret\n1: .quad 3");
FUNCTION(f_locked, "lock incl (%rsi)\nlock decl (%rsi)\n" RETURN);
FUNCTION(f_segment, ".byte 0x3e\nnop\n" RETURN);
FUNCTION(f_flags, "pushf\npop %rax\nand $0x100, %eax\nlea 3(%rdi, %rax), %rax\nret");
FUNCTION(f_vector, "vpor %xmm0, %xmm0, %xmm0\n" RETURN);
#define PROBEABLE X(f_push_sp) X(f_nop5) X(f_jump) X(f_branch) X(f_loop) X(f_call) X(f_relative)
#define REFUSED X(f_locked) X(f_segment) X(f_flags) X(f_vector)
#elif defined(__aarch64__)
#define RETURN "add x0, x0, #3\nret"
FUNCTION(f_push, "stp x29, x30, [sp, #-16]!\nldp x29, x30, [sp], #16\n" RETURN);
FUNCTION(f_nop, "nop\n" RETURN);
FUNCTION(f_jump, "b 1f\nbrk #0\n1: " RETURN);
FUNCTION(f_branch, "cbz x0, 1f\nnop\n1: " RETURN);
FUNCTION(f_relative, "adr x2, 1f\nldr x2, [x2]\nadd x0, x0, x2\nret\n.p2align 3\n1: .quad 3");
FUNCTION(f_locked, "ldxr w2, [x1]\nclrex\n" RETURN);
FUNCTION(f_literal, "ldr x2, 1f\nadd x0, x0, x2\nret\n.p2align 3\n1: .quad 3");
#define PROBEABLE X(f_push) X(f_nop) X(f_jump) X(f_branch) X(f_relative)
#define REFUSED X(f_locked) X(f_literal)
#else
__attribute__((noinline)) long f_plain(long n, int *at)
{
	return n + 3 + *at;
}
#define PROBEABLE X(f_plain)
#define REFUSED
#endif

/* A machine without AVX cannot execute this one. */
static bool is_missing(const char *name)
{
#if defined(__x86_64__)
	return strcmp(name, "f_vector") == 0 && !__builtin_cpu_supports("avx");
#else
	(void)name;
	return false;
#endif
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		function *call;
		char kind;
	} all[] = {
#define X(name) {#name, name, 'g'},
		PROBEABLE
#undef X
#define X(name) {#name, name, 'r'},
			REFUSED
#undef X
	};
	const char *arg = argc > 1 ? argv[1] : "1";
	int zero = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (arg[0] == '-' && all[i].kind == arg[1])
			puts(all[i].name);
		for (long n = atol(arg); n > 0 && !is_missing(all[i].name); n--) {
			if (all[i].call(n, &zero) != n + 3) {
				printf("FAIL: %s\n", all[i].name);
				return 1;
			}
		}
	}
	if (arg[0] != '-')
		puts("PASS");
	return 0;
}
