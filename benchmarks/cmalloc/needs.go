//go:build cgo

package cmalloc

// What the compiler says of a missing library tells nobody what to install. This does, before the linker looks for it.

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
