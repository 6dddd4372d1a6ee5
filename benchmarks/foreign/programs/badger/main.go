// Command badger stores the events of devices in dgraph-io/badger, on disk.
//
// Of ten operations seven
// read the latest event of a device, two write ten events in a transaction, and one reads a
// device's last 50.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/dgraph-io/badger/v4"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	devices = 2_000
	history = 60 // events of a device at the start
)

var folder string

func main() {
	load.Main(load.Sample{Ops: 60_000, Before: before, Close: func() { os.RemoveAll(folder) }})
}

type store struct {
	db   *badger.DB
	last [devices]uint32 // number of the last event
}

func before() load.Op {
	var err error
	folder, err = os.MkdirTemp("", "badger")
	check(err)
	s := new(store)
	s.db, err = badger.Open(badger.DefaultOptions(folder).WithLoggingLevel(badger.ERROR))
	check(err)
	for range history {
		batch := s.db.NewWriteBatch()
		for d := range s.last {
			check(batch.Set(s.next(d)))
		}
		check(batch.Flush())
	}
	return func(i int) {
		device := i * 7919 % devices
		switch i % 10 {
		case 0, 5:
			s.write(device)
		case 7:
			s.list(device)
		default:
			s.read(device)
		}
	}
}

func (s *store) write(device int) {
	check(s.db.Update(func(tx *badger.Txn) error {
		for d := range 10 {
			if err := tx.Set(s.next((device + d) % devices)); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (s *store) read(device int) {
	check(s.db.View(func(tx *badger.Txn) error {
		item, err := tx.Get(key(device, s.last[device]))
		if err != nil {
			return err
		}
		value, err := item.ValueCopy(nil)
		if len(value) == 0 {
			return fmt.Errorf("an empty event, %v", err)
		}
		return err
	}))
}

func (s *store) list(device int) {
	check(s.db.View(func(tx *badger.Txn) error {
		prefix := binary.BigEndian.AppendUint32([]byte("event/"), uint32(device))
		it := tx.NewIterator(badger.IteratorOptions{PrefetchValues: true, PrefetchSize: 50, Prefix: prefix})
		defer it.Close()
		n := 0
		for it.Seek(key(device, s.last[device]-49)); it.ValidForPrefix(prefix); it.Next() {
			if err := it.Item().Value(func(v []byte) error { n += len(v); return nil }); err != nil {
				return err
			}
		}
		if n == 0 {
			return fmt.Errorf("device %d has no events", device)
		}
		return nil
	}))
}

// next is the key and the value of a device's next event.
func (s *store) next(device int) (k, v []byte) {
	s.last[device]++
	n := s.last[device]
	value := fmt.Appendf(nil, `{"device":%d,"event":%d,"kind":"temperature","celsius":%d.5,"battery":%d,"firmware":"2.14.%d","payload":"`, device, n, n%40, n%100, device%9)
	value = append(value, bytes.Repeat([]byte{byte('a' + n%26)}, 100)...)
	return key(device, n), append(value, `"}`...)
}

func key(device int, n uint32) []byte {
	k := binary.BigEndian.AppendUint32([]byte("event/"), uint32(device))
	return binary.BigEndian.AppendUint32(k, n)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
