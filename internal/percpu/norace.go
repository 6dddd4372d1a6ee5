//go:build !race && freehold_nolinkname

package percpu

const raceEnabled = false
