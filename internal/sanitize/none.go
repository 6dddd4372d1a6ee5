// SPDX-License-Identifier: Apache-2.0

//go:build !(linux && (amd64 || arm64)) || !(asan || msan || valgrind)

package sanitize

const kind = ""

func fresh(addr, n uintptr, zeroed bool) {}

func freed(addr, n uintptr) {}

func poison(addr, n uintptr) {}

func unpoison(addr, n uintptr) {}

func reserve(addr, n uintptr) {}

func record(addr, n uintptr, what string, goroutine int64, stack string) {}

func recordFree(addr, n uintptr, op, by string, goroutine int64, stack string) {}

func forget(addr, n uintptr) {}
