//go:build !goexperiment.arenas

package bench

// Without GOEXPERIMENT=arenas there is no such package to measure.
func addObjectsGoArena() {}
func addTreeGoArena()    {}
func addFrameGoArena()   {}
func addJSONGoArena()    {}
