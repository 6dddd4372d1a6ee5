//go:build race

package offheap

// raceEnabled says that the race detector is built in: it dies where its own memory is refused.
const raceEnabled = true
