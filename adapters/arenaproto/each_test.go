// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
	"github.com/freehold-go/freehold/arena"
)

// TestEach reads streams.
func TestEach(t *testing.T) {
	var w bytes.Buffer
	for i := range 100 {
		if _, err := protodelim.MarshalTo(&w, &proto3.Small{Id: int32(i), Name: strings.Repeat("x", i*i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range []*arena.Arena{nil, arena.NewArena()} {
		n, names := 0, 0
		for m, err := range Each[proto3.Small](a, bufio.NewReader(bytes.NewReader(w.Bytes()))) {
			if err != nil || int(m.Id) != n || len(m.Name) != n*n {
				t.Fatalf("message %d: %v, %v", n, m, err)
			}
			n++
			names += len(m.Name)
		}
		if n != 100 {
			t.Errorf("%d messages", n)
		}
		if a != nil && a.Stats().InUse > int64(names/4) {
			t.Errorf("%d bytes in use after %d bytes of messages, of which one was alive at a time", a.Stats().InUse, names)
		}
	}
	for range Each[proto3.Small](nil, bytes.NewReader(w.Bytes())) {
		break
	}
}

// TestEachForgets: the arena of a stream takes no memory for each message, neither in chunks nor for what it notes of its
// checkpoints.
func TestEachForgets(t *testing.T) {
	if m := freehold.Modes(); raceEnabled || m.Heap || m.NoReuse || m.Guard || m.Leaks || m.Pointers || m.Sample != 0 {
		t.Skip("with this mode values lie on the Go heap, or are noted one by one; with the race detector sync.Pool drops things")
	}
	var w bytes.Buffer
	if _, err := protodelim.MarshalTo(&w, &proto3.Small{Id: 1, Name: "name"}); err != nil {
		t.Fatal(err)
	}
	a := arena.NewArena()
	defer a.Free()
	var last uint64
	number := 0
	for _, err := range Each[proto3.Small](a, bytes.NewReader(bytes.Repeat(w.Bytes(), 20_000))) {
		if err != nil {
			t.Fatal(err)
		}
		if number++; number == 1000 || number == 20_000 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if taken := m.TotalAlloc - last; last != 0 && taken > 1<<20 {
				t.Errorf("%d bytes for 19000 messages", taken)
			}
			last = m.TotalAlloc
		}
	}
	if held := a.Stats().Held; number != 20_000 || held > 64<<10 {
		t.Errorf("%d bytes are held after %d messages", held, number)
	}
}

// TestEachFails reads streams with an error.
func TestEachFails(t *testing.T) {
	for name, c := range map[string]struct {
		b    string
		o    []UnmarshalOptions
		good int
		is   func(error) bool
	}{
		"empty":               {"", nil, 0, nil},
		"two":                 {"\x02\x08\x01\x00", nil, 2, nil},
		"cut in a message":    {"\x02\x08\x01\x02\x08", nil, 1, func(err error) bool { return err == io.ErrUnexpectedEOF }},
		"cut before it":       {"\x02", nil, 0, func(err error) bool { return err == io.ErrUnexpectedEOF }},
		"cut in a length":     {"\x82", nil, 0, func(err error) bool { return err == io.ErrUnexpectedEOF }},
		"no varint":           {strings.Repeat("\x82", 11), nil, 0, func(err error) bool { return err == errSize }},
		"malformed":           {"\x01\xff\x00", nil, 0, func(err error) bool { return err == errMalformed() }},
		"too large":           {"\xff\xff\xff\x7f", nil, 0, isTooLarge},
		"too large for us":    {"\x02\x08\x01", []UnmarshalOptions{{MaxSize: 1}}, 0, isTooLarge},
		"a claim of much":     {"\xff\xff\xff\xff\xff\xff\xff\x7fabc", []UnmarshalOptions{{MaxSize: -1}}, 0, func(err error) bool { return err == io.ErrUnexpectedEOF }},
		"two sets of options": {"\x00", make([]UnmarshalOptions, 2), 0, func(err error) bool { return strings.Contains(err.Error(), "2 UnmarshalOptions") }},
	} {
		good, failed := 0, 0
		for m, err := range Each[proto3.Small](nil, strings.NewReader(c.b), c.o...) {
			switch {
			case err == nil:
				good++
			case c.is == nil || !c.is(err) || m != nil:
				t.Errorf("%s: %v, %v", name, m, err)
			default:
				failed++
			}
		}
		if good != c.good || failed > 1 || (failed == 1) != (c.is != nil) {
			t.Errorf("%s: %d messages and %d errors", name, good, failed)
		}
	}
}

func isTooLarge(err error) bool {
	var e *protodelim.SizeTooLargeError
	return errors.As(err, &e)
}
