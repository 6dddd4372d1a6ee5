package examples

import "github.com/freehold-go/freehold/cmd/bench"

// Name is the name of the contestant that uses freehold.
const Name = "freehold"

// prepare is the Prepare of a contestant.
type prepare = func(r *bench.Run) (round func() uint64)

// twins are the two ways of an example, each with a note.
func twins(plainNote string, plain prepare, note string, ported prepare) []bench.Contestant {
	return []bench.Contestant{
		{Name: bench.HeapName, Note: plainNote, Prepare: plain},
		{Name: Name, Note: note, Prepare: ported, Own: true},
	}
}
