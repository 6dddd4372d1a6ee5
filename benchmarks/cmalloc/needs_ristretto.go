//go:build cgo && jemalloc

package cmalloc

// Ristretto's allocator cannot say what it needs. This package is built beside it, and can.

/*
#ifndef JEMALLOC_NO_DEMANGLE
#error "the tag jemalloc needs CGO_CFLAGS='-O2 -g -DJEMALLOC_NO_DEMANGLE=', for the je_ names that ristretto calls"
#endif
#ifdef __has_include
#if !__has_include("/usr/local/lib/libjemalloc.a")
#error "ristretto links /usr/local/lib/libjemalloc.a: ln -s /usr/lib/$(gcc -print-multiarch)/libjemalloc.a /usr/local/lib/"
#endif
#endif
*/
import "C"
