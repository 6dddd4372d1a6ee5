// SPDX-License-Identifier: Apache-2.0

// Package suite is the tests of arena, offheap, pool and sortbuf that see only what users see.
//
// These tests run in every configuration: with the race detector, on 386, arm64 and js, in the debug
// modes, with the kill switch, with the older Go, with sanitizers, and under each build tag. All
// other tests run in the plain configuration alone, except where a configuration is their subject.
//
// A test belongs here if it needs no unexported name and holds in every configuration. It stands in
// a folder of its own, because a folder's external tests are compiled together with its internal
// ones, which are many times as large. Lint holds the imports of this package to those of a user's
// program and of internal/checks.
package suite
