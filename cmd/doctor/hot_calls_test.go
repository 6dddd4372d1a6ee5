// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const hotText = `package shop

import "example.com/lib/v2"

func sum(list []*lib.Set) *lib.Set {
	all := lib.New()
	for _, s := range list {
		all = lib.Or(all, s) // or
	}
	return all
}

func show(doc []byte) {
	tree, err := lib.Parse(doc) // parse
	walk(tree, err)
}

func write(v any) {
	out, err := lib.Marshal(v) // marshal
	send(out, err)
}

func ask(v any) {
	lib.Convert(v) // convert
}

func run(v any) {
	lib.RunAll(v) // run
}
`

// TestHotCalls wants the remedy that fits what the user's line calls, in words of its library, and
// the gain of all that is below the line.
func TestHotCalls(t *testing.T) {
	const lib, in, served = "example.com/lib/v2.", "example.com/shop.", ";example.com/shop.handle;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve"
	for _, c := range []struct {
		mark, call, api string
		gain            float64 // of 20 % in the allocator and 20 % beside it
		info            bool
		text            []string
	}{
		{"sum#or", "Or", "func (s *Set) Or(o *Set) {}\nfunc FastOr(list ...*Set) *Set { return nil }", copyPart * 0.4, false,
			[]string{"Change all in place", "lib.Or copies all", "(*Set).Or and FastOr"}},
		{"show#parse", "Parse", "func NewTokenizer(r any) any { return nil }", 0.2 + treePart*0.2, false, []string{"piece by piece with lib.NewTokenizer", "the tree of lib.Parse is walked once"}},
		{"show#parse", "Parse", "", hotPathPart*0.2 + hotPathWork*0.2, false, []string{"Ask less of lib.Parse"}},
		{"write#marshal", "Marshal", "func MarshalAppend(b []byte, v any) []byte { return b }", hotPathPart * 0.2, false, []string{"Use lib.MarshalAppend"}},
		{"write#marshal", "Marshal", "func (e *Encoder) Reset() {}", hotPathPart * 0.2, false, []string{"Use lib.(*Encoder).Reset"}},
		{"ask#convert", "Convert", "", hotPathPart*0.2 + hotPathWork*0.2, false, []string{"Ask less of lib.Convert"}},
		{"run#run", "RunAll", "", hotPathPart*0.2 + hotPathWork*0.2, true, []string{"options of package example.com/lib/v2"}},
	} {
		t.Run(c.call+c.api, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "lib.go")
			if err := os.WriteFile(file, []byte("package lib\n\n"+c.api+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			deep := "example.com/regex.compileDeep;" + lib + "walk;" + lib + c.call + ";" + in + c.mark + served
			e := sourced(t, hotText, func(f *fake) {
				f.Ran("runtime.mallocgc;runtime.newobject;"+deep, 20)
				f.Ran(deep, 20)
				f.Made(deep, 64, 1_000_000, 0)
				f.Ran("example.com/shop.work;main.main", 60)
				for _, fn := range f.CPU.Function {
					if fn.Name == lib+c.call {
						fn.Filename = file
					}
				}
			})
			f := findingOf(Diagnose(t.Context(), e), hotPathID)
			if f == nil {
				t.Fatal("not found")
			}
			if math.Abs(f.Gain.SameGOGC-c.gain) > 1e-9 || f.Gain.Error > f.Gain.SameGOGC || (f.Severity == SeverityInfo) != c.info {
				t.Errorf("%.3f ± %.3f, %s; want %.3f", f.Gain.SameGOGC, f.Gain.Error, f.Severity, c.gain)
			}
			for _, text := range c.text {
				if !strings.Contains(f.Remedy.Text, text) {
					t.Errorf("%q is not in %s", text, f.Remedy.Text)
				}
			}
			if first, _, _ := strings.Cut(f.Remedy.Text, ". "); len(first) > 150 || strings.Contains(first, "equal input") || !strings.HasPrefix(f.Owner.Func, in) {
				t.Errorf("%s: %s", f.Owner.Func, first)
			}
		})
	}
}

const pooledText = `package shop

var cache = map[string][]byte{}

func get(key string) []byte {
	if b := cache[key]; b != nil {
		return b
	}
	b := make([]byte, 1<<16) // kept
	cache[key] = b
	return b
}

func handle(w writer) {
	b := make([]byte, 1<<16) // read
	w.Write(b)
	lower := bytes.ToLower(b) // lower
	z := lib.NewWriter(w) // new
	z.Write(lower)
	lib.Encode(w) // encode
	get("a") // get
}

func (s *server) serve(w writer) {
	b := s.spare
	if b == nil {
		b = make([]byte, 1<<16) // spare
	}
	w.Write(b)
}

func rows(values [][]byte) (list []*pb.Row) {
	for _, v := range values {
		row := new(pb.Row)
		proto.Unmarshal(v, row) // reply
		list = append(list, row)
	}
	return list
}

func sum(values [][]byte) (n int) {
	for _, v := range values {
		row := new(pb.Row)
		proto.Unmarshal(v, row) // row
		n += row.N
	}
	return n
}
`

// TestPoolable wants a pool only for what the user's code makes, or has a function make, and does not
// keep.
func TestPoolable(t *testing.T) {
	const served = "net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve"
	for stack, pooled := range map[string]bool{
		"example.com/shop.handle#read":                                                                                       true,
		"example.com/shop.(*server).serve#spare":                                                                             false,
		"example.com/shop.get#kept;example.com/shop.handle#get":                                                              false,
		"bytes.ToLower;example.com/shop.handle#lower":                                                                        false,
		"example.com/lib.newState;example.com/lib.NewWriter;example.com/shop.handle#new":                                     true,
		"example.com/lib.makeTables;example.com/lib.NewTable;example.com/lib.(*Writer).Write;example.com/shop.handle#encode": true,
		"example.com/lib.newState;example.com/lib.Encode;example.com/shop.handle#encode":                                     false,
	} {
		e := sourced(t, pooledText, func(f *fake) {
			f.Ran("runtime.memclrNoHeapPointers;runtime.mallocgcLarge;runtime.mallocgc;runtime.makeslice;"+stack+";"+served, 40)
			f.Made(stack+";"+served, 64<<10, 100_000, 0)
			f.Ran("example.com/shop.work;main.main", 60)
		})
		r := Diagnose(t.Context(), e)
		if found := findingOf(r, "large-buffers") != nil; found != pooled {
			t.Errorf("%s: pool %v, want %v; %s", stack, found, pooled, list(r))
		}
	}
}

// TestReply wants an arena for messages that the user's code drops, and none for those in its result.
func TestReply(t *testing.T) {
	for line, arena := range map[string]bool{"sum#row": true, "rows#reply": false} {
		e := sourced(t, pooledText, func(f *fake) {
			stack := "google.golang.org/protobuf/internal/impl.consumeMessage;google.golang.org/protobuf/proto.UnmarshalOptions.unmarshal;google.golang.org/protobuf/proto.Unmarshal;example.com/shop." +
				line + ";net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve"
			f.Ran(stack, 30)
			f.Ran("runtime.mallocgc;reflect.unsafe_New;"+stack, 20)
			f.Made(stack, 64, 1_000_000, 100)
			f.Ran("example.com/shop.work;main.main", 50)
		})
		r := Diagnose(t.Context(), e)
		if found := findingOf(r, "protobuf-decoding") != nil; found != arena {
			t.Errorf("%s: arena %v, want %v; %s", line, found, arena, list(r))
		}
	}
}
