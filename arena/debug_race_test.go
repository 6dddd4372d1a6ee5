// SPDX-License-Identifier: Apache-2.0

//go:build race

package arena

import (
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestRaceGivenUp: under the race detector the use of a value by another goroutine, which nothing
// orders before or after its giving up, is a race, whichever of them comes first, for each way to
// give up and each flow; one that is ordered is none.
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
	race := "GORACE=" + cmp.Or(os.Getenv("GORACE"), "atexit_sleep_ms=0") // Or each child sleeps for a second before it ends.
	for _, op := range []string{"Free", "Reset", "Rewind"} {
		for _, what := range []string{"words", "bytes", "typed"} {
			for _, order := range []string{"before", "after", "ordered"} {
				child := exec.Command(exe, "-test.run=^TestRaceGivenUp$", "-test.count=1")
				child.Env = append(os.Environ(), variable+"="+op+","+what+","+order, race)
				out, err := child.CombinedOutput()
				raced := strings.Contains(string(out), "WARNING: DATA RACE") && strings.Contains(string(out), "raceGivenUp")
				if raced != (order != "ordered") || (err != nil) != raced {
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
	var givenUp, used unordered
	done := make(chan bool, 1)
	go func() {
		if how[2] == "after" {
			givenUp.wait()
		}
		use()
		used.set()
		done <- true
	}()
	switch how[2] {
	case "before":
		used.wait()
	case "ordered":
		<-done
	}
	switch how[0] {
	case "Free":
		a.Free()
	case "Reset":
		a.Reset(Keep)
	case "Rewind":
		a.Rewind(c)
	}
	givenUp.set()
	used.wait()
}

// unordered lets one goroutine wait for another without an order that the race detector sees.
type unordered struct{ happened bool }

//go:norace
//go:noinline
func (u *unordered) set() { u.happened = true }

//go:norace
//go:noinline
func (u *unordered) get() bool { return u.happened }

func (u *unordered) wait() {
	for !u.get() {
		time.Sleep(time.Millisecond)
	}
}
