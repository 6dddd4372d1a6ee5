//go:build valgrind && !asan && !msan && linux

#include "textflag.h"

// func request(number, a, b, c, d, e uintptr) uintptr
// The arguments lie in a row, as Valgrind wants them; AX leads to them, and DX has the answer.
TEXT ·request(SB), NOSPLIT, $0-56
	LEAQ number+0(FP), AX
	XORL DX, DX
	ROLQ $3, DI
	ROLQ $13, DI
	ROLQ $61, DI
	ROLQ $51, DI
	XCHGQ BX, BX
	MOVQ DX, ret+48(FP)
	RET
