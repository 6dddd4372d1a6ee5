// SPDX-License-Identifier: Apache-2.0

package alloctest

import "testing"

// A check is one subtest. It takes a testing.TB, not a *testing.T, so that the tests of the suite
// can run it with a stand-in that records failures.
type check struct {
	name string
	run  func(t testing.TB, cfg *Config)
	when func(cfg *Config) bool // nil means always
}

// checks returns the subtests in the order in which they run, cheap ones first: what they find
// explains the failures of later ones.
func checks() []check {
	misuse := func(c *Config) bool { return c.Misuse }
	concurrent := func(c *Config) bool { return c.Concurrent }
	return []check{
		{"Sizes", checkSizes, nil},
		{"Zeroing", checkZeroing, nil},
		{"Alignment", checkAlignment, nil},
		{"BadAlignment", checkBadAlignment, nil},
		{"BadLength", checkBadLength, nil},
		{"Overlap", checkOverlap, nil},
		{"Realloc", checkRealloc, nil},
		{"ReallocEdges", checkReallocEdges, nil},
		{"Free", checkFree, nil},
		{"InUse", checkInUse, nil},
		{"Purge", checkPurge, nil},
		{"Model", checkModel, nil},
		{"MisuseDouble", checkMisuseDouble, misuse},
		{"MisuseInterior", checkMisuseInterior, misuse},
		{"MisuseForeign", checkMisuseForeign, misuse},
		{"MisuseNeighbours", checkMisuseNeighbours, misuse},
		{"MisuseRealloc", checkMisuseRealloc, misuse},
		{"MisuseGoroutine", checkMisuseGoroutine, func(c *Config) bool { return c.Misuse && c.Concurrent }},
		{"Limits", checkLimits, func(c *Config) bool { return c.Limits }},
		{"Own", checkOwn, concurrent},
		{"HandOff", checkHandOff, concurrent},
		{"Exchange", checkExchange, concurrent},
	}
}

// Test runs the suite against the allocators that cfg.New returns, one subtest for each property.
// Every subtest ends with a leak check: InUse must have the value that it had when New returned.
func Test(t *testing.T, cfg Config) {
	t.Helper()
	if cfg.New == nil {
		t.Fatal("alloctest: Config.New is nil, want a function that returns the allocator to test")
	}
	cfg = cfg.withDefaults()
	for _, c := range checks() {
		if c.when != nil && !c.when(&cfg) {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.run(t, &cfg) })
	}
}
