// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"testing"
)

// A poolOwner has an arena of a Pool and knows what each of its values must hold.
type poolOwner struct {
	a     *Arena
	name  string
	nodes []*node
	texts []string
	words []*w5
	typed Typed[node]
	build *Builder
	table *Map[string, int]
	round Round
	mark  Checkpoint
}

// begin notes what an owner can hold, and makes the first values.
func (o *poolOwner) begin(name string) {
	o.name, o.nodes, o.texts, o.words = name, nil, nil, nil
	o.typed, o.build, o.table, o.round, o.mark = Of[node](o.a), NewBuilder(o.a), NewMap[string, int](o.a, 3), o.a.Round(), o.a.Checkpoint()
	_, _ = o.build.WriteString(name)
	o.table.Set(name, len(name))
}

// label is the content of the value in place i. The garbage collector must find it through the arena.
func (o *poolOwner) label(i int) string { return fmt.Sprintf("%s, value %d", o.name, i) }

func (o *poolOwner) make(r *rand.Rand) {
	for range 1 + r.IntN(20) {
		i := len(o.nodes)
		n, w := New[node](o.a), New[w5](o.a)
		if i%3 == 0 {
			n = o.typed.New()
		}
		n.name, n.next = o.label(i), &node{name: o.label(i)}
		w[4] = new(int)
		*w[4] = i
		o.nodes, o.words, o.texts = append(o.nodes, n), append(o.words, w), append(o.texts, String(o.a, o.label(i)))
	}
	if r.IntN(3) == 0 {
		twelve(o.a)
	}
	_, _ = o.build.WriteString("+")
}

// check compares all that the owner has made with what it must be.
func (o *poolOwner) check() error {
	for i, n := range o.nodes {
		want := o.label(i)
		if n.name != want || n.next == nil || n.next.name != want || o.texts[i] != want || o.words[i][4] == nil || *o.words[i][4] != i {
			return fmt.Errorf("%s has %q, %q and %v", want, n.name, o.texts[i], o.words[i])
		}
	}
	if n, ok := o.table.Get(o.name); !ok || n != len(o.name) || o.build.String()[:n] != o.name {
		return fmt.Errorf("%s has a Map with %d, and %q", o.name, n, o.build.String())
	}
	return nil
}

// uses are what a program can do wrongly with an arena that it has put back. Each must panic.
func (o *poolOwner) uses(p *Pool) []func() {
	a := o.a
	return []func(){
		func() { New[node](a) },
		func() { twelve(a) },
		func() { String(a, "stale") },
		func() { MakeSlice[node](a, 3, 5) },
		func() { Append(a, []string(nil), "stale") },
		func() { must(second(DeepClone(a, &node{name: "stale", next: &node{}}))) },
		func() { NewMap[int, string](a, 9) },
		func() { _, _ = NewBuilder(a).WriteString("stale") },
		func() { newGoMap[string, int](a, 3) },
		func() { _, _ = a.UnsafeBytes(9) },
		func() { Of[node](a) },
		func() { o.typed.New() },
		func() { o.typed.MakeSlice(4, 4) },
		func() { o.typed.Append(nil, node{}) },
		func() {
			_, _ = o.build.WriteString("stale, and too long for the room that is left in the Builder of the owner before")
		},
		func() { _ = o.build.WriteByte('s') },
		func() { o.build.Reset() },
		func() { o.table.Set("stale", 1) },
		func() { o.table.Get(o.name) },
		func() { a.Rewind(o.mark) },
		func() { a.Checkpoint() },
		func() { a.Reset(Keep) },
		func() { a.SetLimit(1) },
		func() { a.Free() },
		func() { p.Put(a) },
		func() { a.Stats() },
		func() { a.Owns("x") },
	}
}

// staleOwners are those that goroutines have put back or freed, for any of them to use wrongly. Each element of the
// list has all owners that share handles, such as a Map: the handles lead to one Arena, which a goroutine may write
// over. The goroutine that takes an element has it alone.
type staleOwners struct {
	mu   sync.Mutex
	list [][]*poolOwner
}

func (s *staleOwners) add(family ...*poolOwner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, family)
}

func (s *staleOwners) take(r *rand.Rand) (family []*poolOwner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return nil
	}
	i, last := r.IntN(len(s.list)), len(s.list)-1
	family = s.list[i]
	s.list[i] = s.list[last]
	s.list = s.list[:last]
	return family
}

// A poolAbuser is one goroutine of TestPoolAbuse.
type poolAbuser struct {
	*rand.Rand
	t      *testing.T
	pools  []*Pool
	stale  *staleOwners
	owners []*poolOwner
	serial int
}

func (u *poolAbuser) pool() *Pool { return u.pools[u.IntN(len(u.pools))] }

// end puts an owner's arena back, to whatever Pool, or frees, resets or drops it. What it had is stale then.
func (u *poolAbuser) end(i int) {
	o := u.owners[i]
	switch u.IntN(8) {
	case 0:
		o.a.Free()
	case 1: // The owner drops the arena, but keeps what leads to the state.
		u.owners[i] = nil
	case 2:
		o.a.Reset(Keep)
		u.serial++
		o.begin(fmt.Sprintf("owner %p.%d", u, u.serial))
		return
	default:
		u.pool().Put(o.a)
	}
	if u.owners[i] != nil {
		u.stale.add(o)
	}
	u.owners[i] = u.owners[len(u.owners)-1]
	u.owners = u.owners[:len(u.owners)-1]
}

// abuse uses a stale owner in some way, or writes over its Arena.
func (u *poolAbuser) abuse() {
	family := u.stale.take(u.Rand)
	if family == nil {
		return
	}
	o := family[u.IntN(len(family))]
	at := reflect.ValueOf(o.a).Elem()
	others := u.stale.take(u.Rand)
	switch k := u.IntN(10); {
	case k == 0:
		at.SetZero()
	case k == 1 && others != nil:
		at.Set(reflect.ValueOf(others[u.IntN(len(others))].a).Elem())
	case k == 2 && len(u.owners) > 0:
		caught(func() { // A copy of an arena in use may work as long as no slow path looks.
			at.Set(reflect.ValueOf(u.owners[u.IntN(len(u.owners))].a).Elem())
			twelve(o.a)
		})
		at.SetZero()
	default:
		uses := o.uses(u.pool())
		if i := u.IntN(len(uses)); caught(uses[i]) == nil {
			u.t.Errorf("use %d of an arena that was put back works", i)
		}
		if how := o.round.Ended(); how == "" {
			u.t.Error("a round of an arena that was put back has not ended")
		}
	}
	for _, f := range [][]*poolOwner{family, others} {
		if f != nil {
			u.stale.add(f...)
		}
	}
}

// TestPoolAbuse: goroutines use, free, copy and overwrite what earlier owners of a Pool's arenas have. Each use
// panics, and no owner's values change.
func TestPoolAbuse(t *testing.T) {
	steps := 3000
	if testing.Short() {
		steps = 600
	}
	pools := []*Pool{{Arenas: 3}, {Arenas: 1}}
	var stale staleOwners
	var wg sync.WaitGroup
	for seed := range uint64(2) {
		wg.Go(func() {
			u := &poolAbuser{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, pools: pools, stale: &stale}
			for step := range steps {
				switch k := u.IntN(12); {
				case k < 3 && len(u.owners) < 6:
					o := &poolOwner{a: u.pool().Get()}
					u.serial++
					o.begin(fmt.Sprintf("owner %p.%d", u, u.serial))
					u.owners = append(u.owners, o)
				case k < 6 && len(u.owners) > 0:
					u.owners[u.IntN(len(u.owners))].make(u.Rand)
				case k < 8 && len(u.owners) > 0:
					u.end(u.IntN(len(u.owners)))
				default:
					u.abuse()
				}
				if step%64 == 0 {
					runtime.GC()
				}
				for _, o := range u.owners {
					if err := o.check(); err != nil {
						t.Errorf("step %d: %v", step, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestPoolDroppedKits: arenas of a warm Pool that are dropped, overwritten or freed in place of a Put leave no bytes in the
// sums, although the program keeps what earlier owners had.
func TestPoolDroppedKits(t *testing.T) {
	chunked(t)
	reusing(t)
	p := warmPool()
	a := p.Get()
	typed, round, build := Of[w5](a), a.Round(), NewBuilder(a)
	_, _ = build.WriteString("x")
	p.Put(a)
	var ids []uint64
	for _, drop := range []func(a *Arena){
		func(a *Arena) {},
		func(a *Arena) { reflect.ValueOf(a).Elem().SetZero() },
		(*Arena).Free,
	} {
		func() {
			next := p.Get()
			twelve(next)
			ids = append(ids, next.ID())
			drop(next)
		}()
		p.Put(warmPool().Get()) // Another state.
	}
	left := func() (n int) {
		for _, i := range List() {
			for _, id := range ids {
				if i.ID == id {
					n++
				}
			}
		}
		return n
	}
	for range 100 { // A stale word on the stack may keep one for a while.
		if runtime.GC(); left() == 0 {
			break
		}
		caught(func() { warmPool() })
	}
	if n := left(); n != 0 {
		t.Errorf("%d arenas that were dropped stay in the registry", n)
	}
	if caught(func() { typed.New() }) == nil || caught(func() { _, _ = build.WriteString("y") }) == nil || round.Ended() == "" {
		t.Error("what an earlier owner had works on")
	}
	runtime.KeepAlive(p)
}
