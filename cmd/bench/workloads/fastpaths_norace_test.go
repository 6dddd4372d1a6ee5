// SPDX-License-Identifier: Apache-2.0

//go:build !race

package workloads

import "github.com/freehold-go/freehold"

// onFastPaths says whether freehold's fast paths serve. With the kill switch the Go heap does, and debug modes take the slow ways.
func onFastPaths() bool {
	o := freehold.Modes()
	return !(o.Heap || o.Guard || o.Leaks || o.Pointers || o.Sample != 0)
}
