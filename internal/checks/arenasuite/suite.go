// SPDX-License-Identifier: Apache-2.0

package arenasuite

import "testing"

// A check is one subtest of Test.
type check struct {
	name string
	run  func(t testing.TB, cfg *Config)
	when func(cfg *Config) bool // nil means always
}

// checks returns the subtests in the order in which they run.
func checks() []check {
	misuse := func(c *Config) bool { return c.Misuse }
	return []check{
		{"Lengths", checkLengths, nil},
		{"AppendPlace", checkAppendPlace, nil},
		{"Model", checkModel, nil},
		{"Limits", checkLimits, nil},
		{"UseAfterFree", checkUseAfterFree, misuse},
		{"DoubleFree", checkDoubleFree, misuse},
		{"Checkpoints", checkCheckpoints, misuse},
		{"Iteration", checkIteration, misuse},
		{"AppendElsewhere", checkAppendElsewhere, nil},
		{"Stale", checkStale, nil},
		{"Drops", checkDrops, func(c *Config) bool { return c.Drops }},
		{"Forgets", checkForgets, func(c *Config) bool { return c.Forgets }},
		{"Parallel", checkParallel, func(c *Config) bool { return c.Concurrent }},
		{"LateFree", checkLateFree, func(c *Config) bool { return c.Concurrent && c.Misuse }},
	}
}

// Test runs the arena suite, one subtest a property: a model beside streams of operations, and
// every misuse that an arena must survive.
func Test(t *testing.T, cfg Config) {
	t.Helper()
	if cfg.New == nil {
		t.Fatal("arenasuite: Config.New is nil, want a function that returns the arena to test")
	}
	cfg = cfg.withDefaults()
	for _, c := range checks() {
		if c.when == nil || c.when(&cfg) {
			t.Run(c.name, func(t *testing.T) { c.run(t, &cfg) })
		}
	}
}
