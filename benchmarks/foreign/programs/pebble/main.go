// Command pebble keeps the sessions of a web shop in Pebble: 200000 of them of about 400 bytes on
// disk, with a block cache of 64 MiB.
//
// It reads sessions, most of them popular ones, writes batches of changed ones, and lists the
// sessions of a user.
package main

import (
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const users, perUser = 20_000, 10

func key(user, session int) []byte { return fmt.Appendf(nil, "user/%08d/session/%04d", user, session) }

// value is what a session holds; version makes it another one.
func value(user, session, version int) []byte {
	b := fmt.Appendf(nil, `{"user":%d,"session":%d,"version":%d,"cart":[`, user, session, version)
	for i := range 4 + (user+session)%8 {
		b = fmt.Appendf(b, `{"article":%d,"count":%d,"added":%d},`, uint32(user*7919+session*31+i*version), 1+i%3, 1_700_000_000+i)
	}
	return append(b, "]}"...)
}

func before() load.Op {
	var err error
	if dir, err = os.MkdirTemp("", "pebble"); err != nil {
		panic(err)
	}
	cache := pebble.NewCache(64 << 20)
	db, err := pebble.Open(dir, &pebble.Options{Cache: cache, MemTableSize: 16 << 20, Logger: quiet{}})
	if err != nil {
		panic(err)
	}
	batch := db.NewBatch()
	for u := range users {
		for s := range perUser {
			if err := batch.Set(key(u, s), value(u, s, 1), nil); err != nil {
				panic(err)
			}
		}
		if u%200 == 199 {
			if err := batch.Commit(pebble.NoSync); err != nil {
				panic(err)
			}
			batch = db.NewBatch()
		}
	}
	if err := db.Flush(); err != nil {
		panic(err)
	}
	return func(i int) { op(db, i) }
}

// op is twenty reads and four writes in a batch, and a list for each fifth.
func op(db *pebble.DB, i int) {
	random := uint64(i+1) * 0x9e3779b97f4a7c15
	next := func(n int) int {
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		return int(random % uint64(n))
	}
	user := func() int { return next(1 + next(users)) } // small numbers are popular
	total := 0
	for range 20 {
		v, closer, err := db.Get(key(user(), next(perUser)))
		if err != nil {
			panic(err)
		}
		total += len(v)
		closer.Close()
	}
	batch := db.NewBatch()
	for range 4 {
		u, s := user(), next(perUser)
		if err := batch.Set(key(u, s), value(u, s, i), nil); err != nil {
			panic(err)
		}
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		panic(err)
	}
	if i%5 == 0 {
		u := user()
		it, err := db.NewIter(&pebble.IterOptions{LowerBound: key(u, 0), UpperBound: key(u+1, 0)})
		if err != nil {
			panic(err)
		}
		n := 0
		for it.First(); it.Valid(); it.Next() {
			n++
			total += len(it.Value())
		}
		if err := it.Close(); err != nil || n != perUser {
			panic(fmt.Sprintf("user %d has %d sessions: %v", u, n, err))
		}
	}
	if total == 0 {
		panic("no data")
	}
}

// quiet is a logger for a process that has its standard error for errors.
type quiet struct{}

func (quiet) Infof(string, ...any)           {}
func (quiet) Errorf(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }
func (quiet) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

// dir has the files; they go when the process ends.
var dir string

func main() {
	load.Main(load.Sample{Ops: 12_000, Before: before})
	os.RemoveAll(dir)
}
