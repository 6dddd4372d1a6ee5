//go:build cgo

package cmalloc

// The compiler's error for a missing library does not name the package to install. This error does,
// before the linker runs.

/*
#ifdef __has_include
#if !__has_include(<jemalloc/jemalloc.h>)
#error "jemalloc is missing: apt-get install libjemalloc-dev, or leave out the C allocators with CGO_ENABLED=0"
#endif
#if !__has_include(<mimalloc.h>)
#error "mimalloc is missing: apt-get install libmimalloc-dev, or leave out the C allocators with CGO_ENABLED=0"
#endif
#endif
*/
import "C"
