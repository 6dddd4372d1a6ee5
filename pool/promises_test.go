// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// apiTests maps each function and method of the API, as api/pool.txt has it up to its parameters, to
// the tests that hold it to its documentation. The tests stand here and in internal/checks/suite.
var apiTests = map[string]string{
	"(p *Pool[T]) Get": "FuzzPool TestPoolOwners TestPoolZeroValue TestPoolKeepsBusyCache", "(p *Pool[T]) Put": "FuzzPool TestPoolOwners TestPoolMax TestPoolSizes",
	"(p *Pool[T]) Drain": "FuzzPool TestPoolOffHeap TestPoolSizes", "(p *Pool[T]) Stats": "FuzzPool TestPoolFallsAfterPeak TestPoolSizes",

	"(b *Buffer) All": "FuzzBuffer TestBufferGrowthCopiesNothing", "(b *Buffer) Available": "FuzzBuffer", "(b *Buffer) AvailableBuffer": "FuzzBuffer",
	"(b *Buffer) Bytes": "FuzzBuffer TestBufferGrowthCopiesNothing", "(b *Buffer) Cap": "FuzzBuffer TestBufferGivesBack", "(b *Buffer) Free": "FuzzBuffer TestBufferGivesBack",
	"(b *Buffer) Grow": "FuzzBuffer TestBufferRefused TestBadCounts", "(b *Buffer) Len": "FuzzBuffer", "(b *Buffer) Next": "FuzzBuffer", "(b *Buffer) Peek": "FuzzBuffer",
	"(b *Buffer) Read": "FuzzBuffer", "(b *Buffer) ReadAt": "FuzzBuffer TestBadCounts", "(b *Buffer) ReadByte": "FuzzBuffer", "(b *Buffer) ReadBytes": "FuzzBuffer",
	"(b *Buffer) ReadFrom": "FuzzBuffer TestBufferRefused TestBadCounts", "(b *Buffer) ReadRune": "FuzzBuffer", "(b *Buffer) ReadString": "FuzzBuffer",
	"(b *Buffer) Reset": "FuzzBuffer TestBufferGivesBack", "(b *Buffer) Share": "FuzzBuffer TestFrameCopiesNothing TestBadUseAfterShare", "(b *Buffer) String": "FuzzBuffer",
	"(b *Buffer) Truncate": "FuzzBuffer TestBadCounts", "(b *Buffer) UnreadByte": "FuzzBuffer", "(b *Buffer) UnreadRune": "FuzzBuffer",
	"(b *Buffer) Write": "FuzzBuffer TestBufferRefused TestBufferAllocatesNothing", "(b *Buffer) WriteByte": "FuzzBuffer TestBufferRefused", "(b *Buffer) WriteRune": "FuzzBuffer",
	"(b *Buffer) WriteString": "FuzzBuffer TestBufferRefused", "(b *Buffer) WriteTo": "FuzzBuffer TestBadCounts", "BufferFor": "FuzzBuffer TestBufferRefused",

	"(f *Frame) All": "FuzzBuffer TestFrameReaders TestFrameCopiesNothing", "(f *Frame) CRC32C": "FuzzBuffer", "(f *Frame) Len": "FuzzBuffer", "(f *Frame) ReadAt": "FuzzBuffer",
	"(f *Frame) Release": "TestFrameReaders TestBadUseAfterRelease", "(f *Frame) Retain": "TestFrameReaders TestFrameCopiesNothing", "(f *Frame) WriteTo": "FuzzBuffer",

	"(h Handle[T]) Index": "FuzzSlab TestHandle", "(h Handle[T]) IsNil": "TestHandle", "(h Handle[T]) Uint64": "TestHandle", "HandleFromUint64": "FuzzSlab TestHandle TestBadHandles",
	"(s *Slab[T]) All": "FuzzSlab TestSlabAllEnds", "(s *Slab[T]) Clear": "FuzzSlab TestBadHandles", "(s *Slab[T]) Delete": "FuzzSlab TestSlabRetiresSlots TestSlabKeepsNothing",
	"(s *Slab[T]) Free": "FuzzSlab TestBadUseAfterFree", "(s *Slab[T]) Get": "FuzzSlab TestBadHandles", "(s *Slab[T]) Len": "FuzzSlab",
	"(s *Slab[T]) New": "FuzzSlab TestSlabRefused TestSlabTooManySlots", "(s *Slab[T]) ReadFrom": "FuzzSlab TestSlabContinues TestSlabFileDamage TestSlabFileLies TestSlabLayout",
	"(s *Slab[T]) WriteTo": "FuzzSlab TestSlabContinues TestSlabWriteErrors TestSlabLayout", "NewSlab": "FuzzSlab TestBadSlabs TestSlabTyped",
}

// badInput is what each mistake does, and its tests.
var badInput = map[string]string{
	"Put(nil)": "TestBadPutNil",
	"New that panics or returns nil; Reset that panics":        "TestBadNew TestBadReset",
	"copy of a Pool, Buffer or Slab":                           "TestBadCopies",
	"Buffer after Share; Release too often; read after it":     "TestBadUseAfterShare TestBadUseAfterRelease",
	"made-up handle, handle after Clear, of another slab":      "TestBadHandles FuzzSlab",
	"slab file cut or flipped anywhere, other T, other layout": "TestSlabFileDamage TestSlabFileLies TestSlabLayout",
	"no memory":            "TestSlabRefused TestBufferRefused TestPoolRefused",
	"second Put, stranger": "TestTrackedMistakes",
	"write after Put":      "TestTrackedMistakes",
	"use after Free":       "TestBadUseAfterFree",
	"counts":               "TestBadCounts",
	"reader or writer that panics or uses the receiver": "TestBadSlabReaders TestBadCounts",
}

// bars are the workloads of freehold bench that measure each bar.
var bars = []string{
	"pool/pair", "pool/pair/all", "pool/burst", "pool/handoff", "pool/encoder", "pool/encoder/busy", "pool/peak", "pool/buffer", "pool/after-burst", "pool/frame",
	"pool/slab", "pool/slab/chase", "pool/slab/churn", "pool/slab/all",
}

// TestPromises: each line of the API and of the tables has a test that exists.
func TestPromises(t *testing.T) {
	testenv.Promises{
		API: "../api/pool.txt", Functions: apiTests,
		Rows: badInput, Workloads: "../cmd/bench/workloads/pool*.go", Bars: bars,
	}.Check(t)
}
