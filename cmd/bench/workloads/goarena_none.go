// SPDX-License-Identifier: Apache-2.0

//go:build !goexperiment.arenas

package workloads

import "github.com/freehold-go/freehold/cmd/bench"

// Without GOEXPERIMENT=arenas there is no such package to measure.
func objectsGoArena() []bench.Contestant { return nil }
func treeGoArena() []bench.Contestant    { return nil }
func frameGoArena() []bench.Contestant   { return nil }
func jsonGoArena() []bench.Contestant    { return nil }
