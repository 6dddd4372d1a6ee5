//go:build race

package testenv

// Race says whether blocks come from the Go heap, where the race detector sees them, so that totals
// are zero.
const Race = true
