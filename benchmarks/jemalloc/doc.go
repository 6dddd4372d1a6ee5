// Package jemalloc allocates by the C allocator jemalloc as a Go package would do it for its users.
//
// Blocks are slices, their bytes are counted, and jemalloc has the options that suit a Go program: a background thread returns unused
// pages, and address space is kept, because it could become Go heap. Package cmalloc calls jemalloc with nothing on top. Without the build
// tag jemalloc, or without cgo, the package is empty. On Debian the library is in the package libjemalloc-dev. A second free, or a free of
// other memory, is undefined behaviour in C.
package jemalloc
