// Package modes names the modes of freehold that metrics report.
package modes

import "github.com/freehold-go/freehold"

// InForce says for each mode, by its word in the variable FREEHOLD, whether it is in force.
func InForce() map[string]bool {
	o := freehold.Modes()
	return map[string]bool{"heap": o.Heap, "nomemlimit": o.NoMemLimit, "noreuse": o.NoReuse, "guard": o.Guard, "poison": o.Poison,
		"leaks": o.Leaks, "pointers": o.Pointers, "sample": o.Sample > 0}
}
