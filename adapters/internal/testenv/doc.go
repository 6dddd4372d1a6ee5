// Package testenv describes the environment of the adapters' tests and the memory in use.
package testenv

import (
	"slices"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// InUse returns the bytes in use for a purpose.
func InUse(t testing.TB, p *offheap.Purpose) int64 {
	t.Helper()
	list := offheap.ReadStats().Purposes
	i := slices.IndexFunc(list, func(s offheap.PurposeStats) bool { return s.Name == p.Name() })
	if i < 0 {
		t.Fatalf("no purpose %q", p.Name())
	}
	return list[i].InUse
}
