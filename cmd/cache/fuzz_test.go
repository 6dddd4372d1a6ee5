// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// fuzzServer is a server for one input.
func fuzzServer(t *testing.T) *server {
	o := Options{Listen: "127.0.0.1:0", Memory: 1 << 20, MaxItem: 4 << 10, MaxConns: 1, Version: "test", Log: io.Discard}
	o.clock = (&testClock{time.Unix(1e9, 0)}).now
	return newTestServer(t, o)
}

// FuzzRequests sends any bytes: the server answers the same however they are cut, and lives.
func FuzzRequests(f *testing.F) {
	for _, e := range exchanges {
		if len(e.requests) < 4000 {
			f.Add([]byte(lines(e.requests)))
		}
	}
	f.Add([]byte("set a 0 0 5\r\nab\x80\n\r\r\nmg \x80 \x81v\r\n\x00\xff\r\n"))
	f.Fuzz(func(t *testing.T, requests []byte) {
		if bytes.Contains(requests, []byte("stats")) || len(requests) > 1<<12 { // Its figures have times and addresses.
			return
		}
		whole := talk(fuzzServer(t), bytes.NewReader(requests))
		for _, cut := range []io.Reader{iotest.OneByteReader(bytes.NewReader(requests)), iotest.HalfReader(bytes.NewReader(requests))} {
			if got := talk(fuzzServer(t), cut); got != whole {
				t.Errorf("cut: %q\nwhole: %q", got, whole)
			}
		}
	})
}

// A modelItem is an item of the model.
type modelItem struct {
	flags, cas int
	data       string
}

// FuzzModel turns bytes into commands, and compares the answers with those of a Go map. The server has
// room for all items, so that it evicts none.
func FuzzModel(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"))
	f.Add([]byte("0a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8s9t0u1v2w3x4y5z"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		model := map[string]modelItem{}
		cas := 0
		var requests, want strings.Builder
		put := func(key string, flags int, data string) {
			cas++
			model[key] = modelItem{flags, cas, data}
		}
		for i := 0; i+1 < min(len(ops), 2000); i += 2 {
			key := "k" + strconv.Itoa(int(ops[i+1]%5))
			old, there := model[key]
			data := strings.Repeat(strconv.Itoa(int(ops[i+1]>>4)), int(ops[i+1]%4))
			flags := int(ops[i+1])
			store := func(command string, may bool, stored string) {
				fmt.Fprintf(&requests, "%s %s %d 0 %d\r\n%s\r\n", command, key, flags, len(data), data)
				if !may {
					want.WriteString("NOT_STORED\r\n")
					return
				}
				want.WriteString("STORED\r\n")
				if strings.HasSuffix(command, "pend") {
					flags = old.flags
				}
				put(key, flags, stored)
			}
			switch ops[i] % 9 {
			case 0:
				store("set", true, data)
			case 1:
				store("add", !there, data)
			case 2:
				store("replace", there, data)
			case 3:
				store("append", there, old.data+data)
			case 4:
				store("prepend", there, data+old.data)
			case 5:
				fmt.Fprintf(&requests, "delete %s\r\n", key)
				if there {
					want.WriteString("DELETED\r\n")
				} else {
					want.WriteString("NOT_FOUND\r\n")
				}
				delete(model, key)
			case 6:
				fmt.Fprintf(&requests, "incr %s 7\r\n", key)
				digits, _, _ := strings.Cut(old.data, " ") // Behind a space anything may stand.
				n, err := strconv.ParseUint(digits, 10, 64)
				switch {
				case !there:
					want.WriteString("NOT_FOUND\r\n")
				case err != nil:
					want.WriteString("CLIENT_ERROR cannot increment or decrement non-numeric value\r\n")
				default:
					fmt.Fprintf(&want, "%d\r\n", n+7)
					put(key, old.flags, fmt.Sprintf("%-*d", len(old.data), n+7))
				}
			case 7:
				fmt.Fprintf(&requests, "gets %s\r\n", key)
				if there {
					fmt.Fprintf(&want, "VALUE %s %d %d %d\r\n%s\r\n", key, old.flags, len(old.data), old.cas, old.data)
				}
				want.WriteString("END\r\n")
			case 8:
				fmt.Fprintf(&requests, "mg %s v c f k\r\n", key)
				if there {
					fmt.Fprintf(&want, "VA %d c%d f%d k%s\r\n%s\r\n", len(old.data), old.cas, old.flags, key, old.data)
				} else {
					fmt.Fprintf(&want, "EN k%s\r\n", key)
				}
			}
		}
		if got := talk(fuzzServer(t), strings.NewReader(requests.String())); got != want.String() {
			t.Errorf("%q\n got %q\nwant %q", requests.String(), got, want.String())
		}
	})
}
