/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * entries N - call functions that have several entries, or unusual names.
 *
 * Known, for N = 1: power@V1 of the library is called once, power@@V2 100 times; same, which is one
 * function in both versions, 10 times.  Of scaled() the symbol itself is called once,
 * scaled.constprop.0 100 times; the pieces scaled.part.0 and scaled.cold 10000 times are not calls.
 * only.isra.0 is called 5 times, split.part.0 6 times, and the names of other languages 7, 8 and 9
 * times.  The probe cpc:many has 18 places, and fires once in each.
 */
#include "entries.h"
#include "work.h"

void power_v1(void), power_v2(void), same_v1(void), same_v2(void);
__asm__(".symver power_v1,power@V1\n.symver power_v2,power@V2\n"
	".symver same_v1,same@V1\n.symver same_v2,same@V2\n");

FUNCTION(extern, scaled, "scaled")
FUNCTION(static, scaled_clone, "scaled.constprop.0")
FUNCTION(static, scaled_part, "scaled.part.0")
FUNCTION(static, scaled_cold, "scaled.cold")
FUNCTION(static, only, "only.isra.0")
FUNCTION(static, split, "split.part.0")
FUNCTION(extern, go_map, "main.Map[int,go.shape.string]")
FUNCTION(extern, go_type, "type:.eq.example.com/a.T")
FUNCTION(extern, cxx, "ns::f(int, char)")

#if __SIZEOF_POINTER__ == 8
#define WORD ".8byte "
#else
#define WORD ".4byte "
#endif

/* Notes as in probes.c, 18 times. */
__attribute__((noinline)) static void fire(void)
{
	__asm__ volatile(".rept 18\n"
			 "990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: " WORD "990b\n" WORD "0\n" WORD "0\n"
			 ".asciz \"cpc\"\n.asciz \"many\"\n.asciz \"\"\n"
			 "994: .balign 4\n.popsection\n"
			 ".endr\n");
}

static void repeat(long n, void (*function)(void))
{
	while (n-- > 0)
		function();
}

int main(int argc, char *argv[])
{
	long n = number(argc > 1 ? argv[1] : "");

	repeat(n, power_v1);
	repeat(100 * n, power_v2);
	repeat(5 * n, same_v1);
	repeat(5 * n, same_v2);
	repeat(n, scaled);
	repeat(100 * n, scaled_clone);
	repeat(10000 * n, scaled_part);
	repeat(10000 * n, scaled_cold);
	repeat(5 * n, only);
	repeat(6 * n, split);
	repeat(7 * n, go_map);
	repeat(8 * n, go_type);
	repeat(9 * n, cxx);
	repeat(n, fire);
	return 0;
}
