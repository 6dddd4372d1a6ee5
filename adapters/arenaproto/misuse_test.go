// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/opaque"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
	"github.com/freehold-go/freehold/arena"
)

// What the programs below keep of a decoded request.
var (
	keptNames = map[string]string{}
	keptTrees []*proto3.Tree
	keptLazy  *opaque.All
)

// A misuse uses a part of a request that its arena has freed.
type misuse struct {
	keep func(a *arena.Arena)
	use  func()
	// Guard mode does not report it. A freed message that holds pointers stays accessible, because the collector reads
	// it: the mode finds only what follows a pointer, a string or a slice of the message.
	unseen bool
}

func keepTree(a *arena.Arena) { keptTrees = []*proto3.Tree{allocateTree(a)} }
func keepLazy(a *arena.Arena) { keptLazy = allocateLazy(a) }

var misuses = map[string]misuse{
	"String": {
		keep: func(a *arena.Arena) { keptNames["last"] = allocateTree(a).Name },
		use:  func() { accessName(keptNames["last"]) },
	},
	"List": {
		keep: func(a *arena.Arena) { keptTrees = allocateTree(a).Kids },
		use:  func() { accessTree(keptTrees) },
	},
	"Write":      {keep: keepTree, use: func() { accessToWrite(keptTrees[0]) }},
	"Set":        {keep: keepTree, use: func() { accessToSet(keptTrees[0]) }, unseen: true},
	"Merge":      {keep: keepTree, use: func() { accessByMerge(keptTrees[0], []byte("\x1a\x06\x0a\x04left")) }},
	"MergeEmpty": {keep: keepTree, use: func() { accessByMerge(keptTrees[0], []byte{0x1a, 0}) }, unseen: true},
	"Marshal":    {keep: keepTree, use: func() { accessByMarshal(keptTrees[0]) }},
	"Lazy":       {keep: keepLazy, use: func() { accessLazy(keptLazy) }},
	"LazyNumber": {keep: keepLazy, use: func() { accessLazyNumber(keptLazy) }, unseen: true},
}

//go:noinline
func allocateTree(a *arena.Arena) *proto3.Tree {
	m, err := New[proto3.Tree](a, append([]byte("\x0a\x07request"), bytesRecord(2, []byte("\x0a\x03kid"))...))
	if err != nil {
		panic(err)
	}
	return m
}

//go:noinline
func allocateLazy(a *arena.Arena) *opaque.All {
	m := new(opaque.All)
	if err := Unmarshal(a, bytesRecord(241, []byte{8, 1}, bytesRecord(14, []byte("text"))), m); err != nil {
		panic(err)
	}
	return m
}

var seen int

//go:noinline
func accessName(s string) { seen += int(s[0]) }

//go:noinline
func accessTree(l []*proto3.Tree) { seen += len(l[0].GetName()) }

//go:noinline
func accessToWrite(m *proto3.Tree) {
	if len(m.Kids) != 0 { // Without a mode the memory is cleared.
		m.Kids[0].Name = "another"
	}
}

//go:noinline
func accessToSet(m *proto3.Tree) { m.Left = new(proto3.Tree) }

//go:noinline
func accessByMerge(m *proto3.Tree, b []byte) {
	o := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Merge: true}}
	_ = o.Unmarshal(nil, b, m)
}

//go:noinline
func accessByMarshal(m *proto3.Tree) {
	b, _ := proto.Marshal(m)
	seen += len(b)
}

//go:noinline
func accessLazy(m *opaque.All) { seen += len(m.GetLazy().GetFString()) }

//go:noinline
func accessLazyNumber(m *opaque.All) { seen += int(m.GetLazy().GetFInt32()) }

//go:noinline
func giveUp(p *arena.Pool, a *arena.Arena) { p.Put(a) }

// run is the program that TestMisuse starts.
func (m misuse) run() {
	var p arena.Pool
	a := p.Get()
	m.keep(a)
	giveUp(&p, a)
	m.use()
}

func TestMain(m *testing.M) {
	if wrong, ok := misuses[os.Getenv("ARENAPROTO_TEST_MISUSE")]; ok {
		wrong.run()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestMisuse: in guard mode the use of a part of a freed request is reported, unless it is one that the mode cannot
// see. Without a mode the program ends as if nothing had happened.
func TestMisuse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reports of faults are tested on Linux")
	}
	if freehold.Modes().Heap || os.Getenv("FREEHOLD") != "" {
		t.Skip("the test starts its programs in its own modes")
	}
	for name, wrong := range misuses {
		t.Run(name, func(t *testing.T) {
			failed, said := runMisuse(t, name, "guard")
			if failed == wrong.unseen {
				t.Errorf("found: %t; it said %q", failed, said)
			}
			for _, want := range []string{"freehold: use after Pool.Put:", "accessed by", "arenaproto.access", "allocated", "arenaproto.allocate", "freed by", "arenaproto.giveUp"} {
				if strings.Contains(said, want) == wrong.unseen {
					t.Errorf("the report says %q: %t:\n%s", want, wrong.unseen, said)
				}
			}
			if failed, said := runMisuse(t, name, ""); failed || said != "" {
				t.Errorf("without a mode it said %q", said)
			}
		})
	}
}

// runMisuse starts a program in a mode and returns how it ended and what it said.
func runMisuse(t *testing.T, name, mode string) (failed bool, stderr string) {
	t.Helper()
	var b strings.Builder
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "ARENAPROTO_TEST_MISUSE="+name, "FREEHOLD="+mode)
	child.Stderr = &b
	err := child.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skipf("no program can be started: %v", err) // We are emulated.
	}
	return err != nil, b.String()
}
