// SPDX-License-Identifier: Apache-2.0

package main

// levels are the API levels of protoc-gen-go.
var levels = []string{"open", "hybrid", "opaque"}

// options are those of the command line.
type options struct {
	runner string
}
