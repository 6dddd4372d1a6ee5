// SPDX-License-Identifier: Apache-2.0

package debugmode

import "testing"

// BenchmarkGuarded measures what a guarded block costs, with its record and its stacks, and of that
// the parts.
func BenchmarkGuarded(b *testing.B) {
	needPages(b)
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			addr, _ := GuardAlloc(64, 8)
			Add(Block{Addr: addr, Size: 64, Owner: "offheap", Alloc: Callers(0), AllocBy: Goroutine()})
			if _, ok := CheckCanary(addr); !ok {
				b.Fatal("damaged")
			}
			Freed(addr, "Free", 0)
			GuardFree(addr)
		}
	})
	b.Run("pages", func(b *testing.B) {
		for b.Loop() {
			addr, _ := GuardAlloc(64, 8)
			GuardFree(addr)
		}
	})
	b.Run("object", func(b *testing.B) {
		for b.Loop() {
			p, _ := NewObject(64, 8, false, true)
			FreeObject(p)
		}
	})
	b.Run("record", func(b *testing.B) {
		for b.Loop() {
			Add(Block{Addr: 0x100, Size: 64, Owner: "offheap"})
			Freed(0x100, "Free", 0)
		}
	})
	b.Run("stack", func(b *testing.B) {
		for b.Loop() {
			Callers(0)
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		for b.Loop() {
			Goroutine()
		}
	})
}
