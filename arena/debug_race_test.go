//go:build race

package arena

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestRaceGivenUp: under the race detector the use of a value by another goroutine, which nothing orders before or after its giving
// up, is a race, for each way to give up and each flow; one that is ordered is none.
func TestRaceGivenUp(t *testing.T) {
	const variable = "FREEHOLD_ARENA_RACE"
	if how := os.Getenv(variable); how != "" {
		raceGivenUp(strings.Split(how, ","))
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []string{"Free", "Reset", "Rewind"} {
		for _, what := range []string{"words", "bytes", "typed"} {
			for _, order := range []string{"none", "ordered"} {
				child := exec.Command(exe, "-test.run=^TestRaceGivenUp$", "-test.count=1")
				child.Env = append(os.Environ(), variable+"="+op+","+what+","+order, "GORACE=atexit_sleep_ms=0")
				out, err := child.CombinedOutput()
				raced := strings.Contains(string(out), "WARNING: DATA RACE") && strings.Contains(string(out), "raceGivenUp")
				if raced != (order == "none") || (err != nil) != raced {
					t.Errorf("%s of %s, order %s: %v\n%s", op, what, order, err, out)
				}
			}
		}
	}
}

func raceGivenUp(how []string) {
	a := NewArena()
	c := a.Checkpoint()
	var use func()
	switch how[1] {
	case "words":
		p := New[point](a)
		use = func() { p.x++ }
	case "bytes":
		s := Bytes(a, "abc")
		use = func() { s[1]++ }
	case "typed":
		p := New[node](a)
		use = func() { p.name = "x" }
	}
	used := make(chan bool, 1)
	go func() {
		if how[2] == "none" {
			time.Sleep(50 * time.Millisecond)
		}
		use()
		used <- true
	}()
	if how[2] == "ordered" {
		<-used
	}
	switch how[0] {
	case "Free":
		a.Free()
	case "Reset":
		a.Reset(Keep)
	case "Rewind":
		a.Rewind(c)
	}
	time.Sleep(100 * time.Millisecond) // Nothing but time orders what comes.
}
