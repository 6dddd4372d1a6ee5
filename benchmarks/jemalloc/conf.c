//go:build jemalloc && cgo

#define JEMALLOC_NO_DEMANGLE
#include <jemalloc/jemalloc.h>

// Read once by jemalloc, before main. It stands in a file of its own because the preamble of a Go
// file may be compiled more than once. Weak, so that a program may define its own beside it.
__attribute__((weak)) const char *je_malloc_conf = "background_thread:true,metadata_thp:auto,retain:true";
