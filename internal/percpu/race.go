//go:build race && freehold_nolinkname

package percpu

// raceEnabled makes the writes of busy visible to the race detector as what they are.
const raceEnabled = true
