package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/freehold-go/freehold/cache"
)

// An input is a call. value is what it stores, "" for none; loads and stores have values that differ.
type input struct {
	call       string // get, set, delete, update, load
	key, value string
}

// An output is what a call returned, and for update the value that it found. "" is none.
type output struct{ value string }

// model is one key of a cache from which nothing is evicted. The state is its value, "" if there is none.
var model = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(input).key
			byKey[key] = append(byKey[key], op)
		}
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() []any { return []any{""} },
	Step: func(state, in, out any) []any {
		was, call, got := state.(string), in.(input), out.(output).value
		switch call.call {
		case "set":
			return []any{call.value}
		case "delete":
			if (got != "") == (was != "") {
				return []any{""}
			}
		case "get":
			if got == was {
				return []any{was}
			}
		case "update": // An empty value removes the key.
			if got == was {
				return []any{call.value}
			}
		case "load":
			switch {
			case was == got:
				return []any{was}
			case was == "": // Stored; or not, if a Set or a Delete came during the load, or if it was the load of another call.
				return []any{got, ""}
			}
		}
		return nil
	},
	DescribeOperation: func(in, out any) string {
		return fmt.Sprintf("%s %q -> %q", in.(input).call, in.(input).value, out.(output).value)
	},
}

// TestLinearizable records the calls of four goroutines on three keys, beside a goroutine that resizes the cache and
// evicts all else, and asks for an order that explains them.
func TestLinearizable(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 40
	}
	for round := range rounds {
		history := record(t, uint64(round))
		if result := porcupine.CheckOperationsTimeout(model.ToModel(), history, time.Minute); result == porcupine.Illegal {
			t.Fatalf("round %d: no order explains the %d calls", round, len(history))
		}
	}
}

// TestModelRefuses shows that the model can fail: a value that came back from the dead.
func TestModelRefuses(t *testing.T) {
	history := []porcupine.Operation{
		{Input: input{"set", "k", "a"}, Call: 0, Output: output{}, Return: 1},
		{Input: input{"delete", "k", ""}, Call: 2, Output: output{"found"}, Return: 3},
		{Input: input{"load", "k", "b"}, Call: 4, Output: output{"a"}, Return: 5},
		{Input: input{"set", "k", "c"}, Call: 6, Output: output{}, Return: 7},
		{Input: input{"get", "k", ""}, Call: 8, Output: output{"a"}, Return: 9},
	}
	if porcupine.CheckOperations(model.ToModel(), history) {
		t.Error("the model allows a load to win over a later Set")
	}
	if !porcupine.CheckOperations(model.ToModel(), history[:4]) {
		t.Error("the model refuses a history that is possible")
	}
}

const goroutines, callsOfEach = 4, 50

func record(t *testing.T, seed uint64) []porcupine.Operation {
	// The keys of the test are asked for often, so those beside them are evicted.
	c, err := cache.NewValues[string, [16]byte](cache.OptionsOf[string, [16]byte]{Options: cache.Options{Bytes: 16 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begin := time.Now()
	histories := make([][]porcupine.Operation, goroutines)
	var wg sync.WaitGroup
	start := make(chan int)
	for g := range goroutines {
		wg.Go(func() {
			<-start
			r := rand.New(rand.NewPCG(seed, uint64(g)))
			for i := range callsOfEach {
				in := input{
					call:  []string{"get", "get", "set", "delete", "update", "load", "load"}[r.IntN(7)],
					key:   fmt.Sprint("key ", r.IntN(3)),
					value: fmt.Sprintf("%d.%d", g, i),
				}
				if in.call == "update" && r.IntN(3) == 0 {
					in.value = ""
				}
				op := porcupine.Operation{ClientId: g, Input: in, Call: int64(time.Since(begin))}
				op.Output = call(t, c, in)
				op.Return = int64(time.Since(begin))
				histories[g] = append(histories[g], op)
			}
		})
	}
	close(start)
	wg.Go(func() {
		for i := range 2000 {
			c.Set(fmt.Sprint("other ", i), [16]byte{})
			if i%500 == 0 {
				if err := c.Resize(int64(8+i/500) << 20); err != nil {
					t.Error(err)
				}
			}
		}
	})
	wg.Wait()
	var all []porcupine.Operation
	for _, h := range histories {
		all = append(all, h...)
	}
	return all
}

func call(t *testing.T, c *cache.Values[string, [16]byte], in input) output {
	text := func(v [16]byte, ok bool) string {
		if !ok {
			return ""
		}
		n := 0
		for n < len(v) && v[n] != 0 {
			n++
		}
		return string(v[:n])
	}
	var value [16]byte
	copy(value[:], in.value)
	var out output
	var err error
	switch in.call {
	case "get":
		out.value = text(c.Get(in.key))
	case "set":
		err = c.Set(in.key, value)
	case "delete":
		if c.Delete(in.key) {
			out.value = "found"
		}
	case "update":
		err = c.Update(in.key, func(old [16]byte, ok bool) ([16]byte, cache.Op) {
			out.value = text(old, ok)
			runtime.Gosched()
			if in.value == "" {
				return old, cache.Remove
			}
			return value, cache.Store
		})
	case "load":
		var v [16]byte
		v, err = c.GetOrLoad(context.Background(), in.key, func(context.Context, string) ([16]byte, error) {
			runtime.Gosched() // Others run meanwhile.
			return value, nil
		})
		out.value = text(v, true)
	}
	if err != nil {
		t.Errorf("%s of %q: %v", in.call, in.key, err)
	}
	return out
}
