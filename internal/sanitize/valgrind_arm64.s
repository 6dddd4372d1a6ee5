//go:build valgrind && !asan && !msan && linux

#include "textflag.h"

// func request(number, a, b, c, d, e uintptr) uintptr
// The arguments lie in a row, as Valgrind wants them; R4 leads to them, and R3 has the answer.
TEXT ·request(SB), NOSPLIT, $0-56
	MOVD $number+0(FP), R4
	MOVD ZR, R3
	ROR $3, R12
	ROR $13, R12
	ROR $51, R12
	ROR $61, R12
	ORR R10, R10
	MOVD R3, ret+48(FP)
	RET
