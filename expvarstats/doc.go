// SPDX-License-Identifier: Apache-2.0

// Package expvarstats publishes freehold's figures as one expvar variable: off-heap memory, its
// purposes and limits, and arenas.
//
//	expvarstats.Publish("freehold")
//
// The variable then appears at /debug/vars, where package expvar has its handler, as the JSON of
// [Figures].
//
// # What it is not
//
// It depends only on the standard library, but it is no part of the root package: importing expvar
// imports net/http and adds a handler to http.DefaultServeMux, and a program must ask for that.
package expvarstats
