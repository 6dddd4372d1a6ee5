// Command buntdb keeps the sessions of a web shop in tidwall/buntdb, in memory, with an index over
// a field of their JSON.
//
// Of 20 operations 15 read a session, 4 write one, and one lists sessions by
// the index.
package main

import (
	"fmt"
	"time"

	"github.com/tidwall/buntdb"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const sessions = 150_000

func main() {
	load.Main(load.Sample{Ops: 250_000, Before: before})
}

func before() load.Op {
	db, err := buntdb.Open(":memory:")
	check(err)
	check(db.CreateIndex("seen", "session:*", buntdb.IndexJSON("seen")))
	for first := 0; first < sessions; first += 1000 {
		check(db.Update(func(tx *buntdb.Tx) error {
			for i := first; i < first+1000; i++ {
				if err := set(tx, i, i); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	bytes := 0
	return func(i int) {
		n := i * 7919 % sessions
		switch i % 20 {
		case 0, 5, 10, 15:
			check(db.Update(func(tx *buntdb.Tx) error { return set(tx, n, i) }))
		case 7:
			check(db.View(func(tx *buntdb.Tx) error {
				left := 20
				return tx.AscendGreaterOrEqual("seen", fmt.Sprintf(`{"seen":%d}`, n), func(_, value string) bool {
					bytes += len(value)
					left--
					return left > 0
				})
			}))
		default:
			check(db.View(func(tx *buntdb.Tx) error {
				value, err := tx.Get(key(n))
				bytes += len(value)
				return err
			}))
		}
	}
}

func set(tx *buntdb.Tx, n, seen int) error {
	value := fmt.Sprintf(`{"user":"user-%d","seen":%d,"agent":"Mozilla/5.0 (X11; Linux x86_64)","cart":[%d,%d,%d],"locale":"en-GB"}`, n, seen, n%100, n%77, n%13)
	_, _, err := tx.Set(key(n), value, &buntdb.SetOptions{Expires: true, TTL: time.Hour})
	return err
}

func key(n int) string { return fmt.Sprintf("session:%08d", n) }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
