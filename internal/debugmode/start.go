// SPDX-License-Identifier: Apache-2.0

package debugmode

// Start switches the modes on, for the life of the process. With guard, sample or leaks it starts a
// copy of the program, unless a watcher has started this process; the other process reports what
// ends this one. If it cannot, it tells the operator, and everything else works. The root package
// calls it once, when its modes are frozen; a second call panics. Budgets that c leaves at 0 come
// from the machine. With no mode on, and no sanitizer, it does nothing.
func Start(c Config) {
	if !c.On() {
		return
	}
	c = c.withSanitizer().withDefaults()
	if !current.CompareAndSwap(nil, &c) {
		panic("debugmode: Start was called twice")
	}
	if !c.Guard && !c.Leaks && c.Sample == 0 {
		return // There is nothing to say at the end.
	}
	if err := startWatch(); err != nil {
		say("no copy of the program watches it, so there is no report of a crash or of leaks at the end: %v", err)
	}
}
