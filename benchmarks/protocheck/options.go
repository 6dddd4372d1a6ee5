// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// levels are the API levels of protoc-gen-go.
var levels = []string{"open", "hybrid", "opaque"}

// options are those of the command line.
type options struct {
	runner string
	time   time.Duration
	seed   uint64
}
