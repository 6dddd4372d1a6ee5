// Package expvarstats publishes as one expvar variable what freehold holds: off-heap memory, its purposes and limits, and arenas.
//
//	expvarstats.Publish("freehold")
//
// The variable then appears at /debug/vars, where package expvar has its handler, as the JSON of [Figures].
//
// # What it is not
//
// It depends on the standard library alone, and stands here all the same and not in the root package, because importing expvar
// brings net/http along and adds a handler to http.DefaultServeMux. Who does not ask for that shall not get it.
package expvarstats
