// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/internal/failpoint"
)

// anywhere is no place: the process is killed from outside, at a random time.
const anywhere = "anywhere"

// kills has members of a group die again and again.
func (s *suite) kills(t *testing.T) {
	s.killUntil(t, map[string]int{failpoint.Upload: 12, failpoint.Stored: 12, failpoint.Rotation: 12, failpoint.Revoke: 6, failpoint.Assigned: 6, anywhere: 12}, func(c *config.Config) {
		c.Objects.CheckJSON = true
		c.Objects.PartitionBy = []config.Partition{{Field: "event.event_type", Name: "type"}}
	})
}

// serverSide does the same with a group whose broker assigns the partitions.
func (s *suite) serverSide(t *testing.T) {
	s.killUntil(t, map[string]int{failpoint.Upload: 2, failpoint.Stored: 3, failpoint.Revoke: 3, failpoint.Assigned: 2, anywhere: 4}, func(c *config.Config) { c.Kafka.ServerSide = true })
}

// killUntil has three members of a group die until they have died so often at each place. Each
// round moves all records.
func (s *suite) killUntil(t *testing.T, quotas map[string]int, change func(*config.Config)) {
	k := &killer{s: s, quotas: quotas, died: map[string]int{}, planned: map[string]int{}}
	for round := 1; k.missing() > 0; round++ {
		conf := s.configure(t)
		change(&conf)
		began := time.Now()
		k.round(t, conf)
		t.Logf("round %d took %v, died so far: %v", round, time.Since(began).Round(time.Second), k.died)
		inspect(t, conf)
		s.checkAll(t, conf)
		if t.Failed() {
			return
		}
	}
}

// killer plans deaths and counts them.
type killer struct {
	s       *suite
	quotas  map[string]int // how often processes are to die, by place
	died    map[string]int
	planned map[string]int // of processes that run
	members [3]*child
	plans   [3]string
}

// missing is the number of deaths that are left.
func (k *killer) missing() (n int) {
	for place, quota := range k.quotas {
		n += max(0, quota-k.died[place])
	}
	return n
}

// plan chooses where the next process dies: where most deaths are missing.
func (k *killer) plan() string {
	best, most := "", 0
	for place, quota := range k.quotas {
		if left := quota - k.died[place] - k.planned[place]; left > most {
			best, most = place, left
		}
	}
	return best
}

// start starts a member. The first one is static.
func (k *killer) start(t *testing.T, conf config.Config, i int) {
	if i == 0 {
		conf.Kafka.InstanceID = "first"
	}
	place := k.plan()
	k.planned[place]++
	k.plans[i] = place
	dies := ""
	switch place {
	case "", anywhere:
	case failpoint.Revoke:
		dies = place + ":1"
	case failpoint.Assigned:
		dies = fmt.Sprintf("%s:%d", place, 1+rand.IntN(3))
	default:
		dies = fmt.Sprintf("%s:%d", place, 1+rand.IntN(6))
	}
	c := spawn(t, conf, dies)
	k.members[i] = c
	if place == anywhere {
		time.AfterFunc(200*time.Millisecond+rand.N(3*time.Second), func() { c.cmd.Process.Kill() })
	}
}

// round moves all records, with as many deaths as there is time for.
func (k *killer) round(t *testing.T, conf config.Config) {
	total := int64(partitions * k.s.each)
	for deadline := time.Now().Add(15 * time.Minute); k.s.committed(t, conf) < total; time.Sleep(20 * time.Millisecond) {
		for i, c := range k.members {
			switch {
			case c == nil:
				k.start(t, conf, i)
			case c.ended():
				k.bury(t, i)
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d records are committed", k.s.committed(t, conf), total)
		}
	}
	for i, c := range k.members {
		if c != nil {
			c.stop(t)
			k.bury(t, i)
		}
	}
}

// bury counts a member that has ended.
func (k *killer) bury(t *testing.T, i int) {
	c := k.members[i]
	k.members[i] = nil
	k.planned[k.plans[i]]--
	place := c.place(t)
	if place == "" && c.err != nil {
		t.Fatalf("a member ended with %v\n%s", c.err, c.tail(t))
	}
	if place != "" {
		k.died[place]++
	}
}
