package gctune

// gogc keeps GOGC at what the policy wants, unless somebody else has chosen a value.
type gogc struct {
	why     string // why it is left alone, "" if it is not
	before  int    // in force before the first change
	ours    int    // what was set last; meaningful if applied
	applied bool
}

// defaultGOGC is in force when nobody has chosen.
const defaultGOGC = 100

// policies say to which share of its room the heap may grow, and between which values of GOGC. The heap of a small program may
// grow to floor bytes, as long as that is within the share, because a collection has a cost of its own, however little is live.
var policies = [...]struct {
	share     float64
	low, high int
	floor     int64
}{
	Balanced:   {share: 0.5, low: 100, high: 400, floor: 32 << 20},
	Throughput: {share: 0.8, low: 100, high: 800, floor: 64 << 20},
	Small:      {share: 0, low: 50, high: 50},
}

// init finds out whether GOGC is ours to set: inForce is its value now.
func (g *gogc) init(o *Options, inForce int, getenv func(string) (string, bool)) {
	g.before = inForce
	_, set := getenv("GOGC")
	switch {
	case o.KeepGOGC:
		g.why = "Options.KeepGOGC says so"
	case set:
		g.why = "the environment sets it"
	case inForce != defaultGOGC:
		g.why = "the program has set it"
	}
}

// decide returns the value that should be in force, and why it is not the policy's, if it is not.
func (g *gogc) decide(d *Decision, now goState) (percent int, why string) {
	expected := g.before
	if g.applied {
		expected = g.ours
	}
	if g.why == "" && now.gogc != expected {
		g.why = "the program has set it since"
	}
	if g.why != "" {
		return now.gogc, g.why
	}
	p := policies[d.Policy]
	if d.Room == none {
		return p.low, "" // Nobody knows how much memory there is.
	}
	room := int64(p.share * float64(d.Room))
	percent = max(p.low, min(percentFor(room, d.Live, now.roots), p.high), percentFor(min(room, p.floor), d.Live, now.roots))
	// Each change stops the world for some microseconds; a tenth more or less does not matter.
	if abs(int64(percent-expected))*10 <= int64(expected) {
		return expected, ""
	}
	return percent, ""
}

// percentFor returns the GOGC with which the heap grows to goal bytes. From Go's guide to the collector, and the runtime's gcController:
//
//	goal = max(live + (live + roots)·GOGC/100, 4 MiB·GOGC/100)
func percentFor(goal, live, roots int64) int {
	const least = 4 << 20
	byLeast := 100 * float64(goal) / least
	byLive := 100 * float64(goal-live) / float64(max(1, live+roots))
	return int(max(0, min(byLive, byLeast)))
}

// set puts the value in force, unless it is somebody else's.
func (g *gogc) set(percent int, setGC func(int) int) {
	if g.why != "" || g.applied && percent == g.ours || !g.applied && percent == g.before {
		return
	}
	g.ours, g.applied = percent, true
	setGC(percent)
}

// restore puts back what was there before, unless somebody has changed it since.
func (g *gogc) restore(setGC func(int) int, inForce int) {
	if g.applied && inForce == g.ours {
		setGC(g.before)
	}
}
