// Command channel-records makes two small objects for each record that it reads, and sends them to
// another goroutine, which drops them: no arena can end their use.
//
// After the change the records go over by value in batches that come back, and hold numbers in
// place of the strings.
package main

import (
	"strconv"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

type record struct {
	key   *key
	value int64
	next  int64
}

type key struct {
	name string
	hash uint64
}

const records = 2000 // of an operation

// total keeps the compiler from dropping the work.
var total uint64

func main() {
	load.Main(load.Sample{Ops: 6_000, Before: before, After: after})
}

func before() load.Op {
	channel, done := make(chan *record, 1024), make(chan uint64)
	go consume(channel, done)
	return func(i int) {
		for n := range records {
			channel <- read(i + n)
		}
		channel <- nil
		total += <-done
	}
}

func read(n int) *record {
	name := strconv.Itoa(n)
	return &record{key: &key{name: name, hash: uint64(n) * 31}, value: int64(n)}
}

func consume(channel chan *record, done chan uint64) {
	sum := uint64(0)
	for r := range channel {
		if r == nil {
			done <- sum
			continue
		}
		sum += r.key.hash + uint64(len(r.key.name)) + uint64(r.value)
	}
}

// plain is a record without pointers.
type plain struct {
	name  int64
	hash  uint64
	value int64
}

func after() load.Op {
	full, empty, done := make(chan []plain, 4), make(chan []plain, 4), make(chan uint64)
	for range 4 {
		empty <- make([]plain, 0, 256)
	}
	go func() {
		for batch := range full {
			sum := uint64(0)
			for _, r := range batch {
				sum += r.hash + uint64(digits(r.name)) + uint64(r.value)
			}
			empty <- batch[:0]
			done <- sum
		}
	}()
	return func(i int) {
		for n := 0; n < records; {
			batch := <-empty
			for ; n < records && len(batch) < cap(batch); n++ {
				batch = append(batch, plain{name: int64(i + n), hash: uint64(i+n) * 31, value: int64(i + n)})
			}
			full <- batch
			total += <-done
		}
	}
}

func digits(n int64) (count int) {
	for ; n > 0; n /= 10 {
		count++
	}
	return max(count, 1)
}
