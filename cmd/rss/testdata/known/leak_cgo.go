// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

/*
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// leak allocates pieces and forgets them. The sum keeps the compiler from leaving them out.
static long leak(long pieces, long size) {
	long sum = 0;
	for (long i = 0; i < pieces; i++) {
		volatile char *p = malloc(size);
		memset((void *)p, 1, size);
		sum += p[size - 1];
	}
	return sum;
}

static void *leakInThread(void *unused) { leak(100000, 1008); return 0; }

static void leakWithThread(void) {
	pthread_t t;
	pthread_create(&t, 0, leakInThread, 0);
	pthread_join(t, 0);
}
*/
import "C"

// leakInC leaks small pieces in the heap of the main thread or an arena, more of them in a thread's arena, and large pieces that C maps.
func leakInC() (map[string]int64, error) {
	C.leak(50000, 1008) // and 8 bytes of malloc's
	C.leakWithThread()
	C.leak(100, mib-4096)
	return map[string]int64{"anonymous": 150000*1024 - 150000*8 + 100*mib}, nil
}
