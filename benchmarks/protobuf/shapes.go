package protobuf

import (
	"fmt"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/benchmarks/protobuf/shapes"
	"github.com/freehold-go/freehold/cmd/bench/messages"
)

// Messages of megabytes that consist of many small values, in four shapes. Memory bounds their decoding: the four that are
// alive do not fit into a processor's caches.

// shapeTasks are the tasks of the four shapes.
func shapeTasks() []messages.Task {
	return []messages.Task{
		{
			Name: "proto/lines", Doc: "Decode n lines of a web server's log, and keep the four latest messages.", Size: "lines", Sizes: []int{10_000}, FullOnly: true,
			New: func() proto.Message { return new(shapes.Lines) }, Decode: messages.Decode[shapes.Lines], Data: encoded(func(n int) proto.Message { return &shapes.Lines{Line: many(newSeed(), n, newLine)} }),
		}, {
			Name: "proto/floats", Doc: "Decode a surface of n triangles of floats, and keep the four latest.", Size: "faces", Sizes: []int{125_000}, FullOnly: true,
			New: func() proto.Message { return new(shapes.Surface) }, Decode: messages.Decode[shapes.Surface], Data: encoded(func(n int) proto.Message { return &shapes.Surface{Face: many(newSeed(), n, newFace)} }),
		}, {
			Name: "proto/records", Doc: "Decode n records of 28 fields and some messages each, and keep the four latest messages.", Size: "records", Sizes: []int{500}, FullOnly: true,
			New: func() proto.Message { return new(shapes.Parcels) }, Decode: messages.Decode[shapes.Parcels], Data: encoded(func(n int) proto.Message { return &shapes.Parcels{Parcel: many(newSeed(), n, newParcel)} }),
		}, {
			Name: "proto/updates", Doc: "Decode n updates with lists of small messages, numbers and bools, and keep the four latest messages.", Size: "updates", Sizes: []int{1000}, FullOnly: true,
			New: func() proto.Message { return new(shapes.Updates) }, Decode: messages.Decode[shapes.Updates], Data: encoded(func(n int) proto.Message { return &shapes.Updates{Update: many(newSeed(), n, newUpdate)} }),
		},
	}
}

// many are n values.
func many[T any](r *rand.Rand, n int, newValue func(r *rand.Rand) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = newValue(r)
	}
	return all
}

// maybe is a value, or nil in half of the cases.
func maybe[T any](r *rand.Rand, newValue func(r *rand.Rand) *T) *T {
	if heads(r) {
		return nil
	}
	return newValue(r)
}

func heads(r *rand.Rand) bool { return r.IntN(2) == 0 }

// word is one of n words of some letters.
func word(r *rand.Rand, n int) string { return fmt.Sprintf("word-%d", r.IntN(n)) }

func newOctets(r *rand.Rand) *shapes.Octets {
	return &shapes.Octets{A: r.Uint32N(256), B: r.Uint32N(256), C: r.Uint32N(256), D: r.Uint32N(256)}
}

func newLine(r *rand.Rand) *shapes.Line {
	return &shapes.Line{
		From: newOctets(r), Agent: "-", Account: word(r, 10), At: fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02dZ", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60)),
		Asked: fmt.Sprintf("GET /parcels/%d?%s HTTP/2", r.IntN(1000), word(r, 100)), Status: 200 + 100*r.Uint32N(4), Sent: r.Uint64N(100_000_000),
	}
}

func newPoint(r *rand.Rand) *shapes.Point {
	return &shapes.Point{X: r.Float32(), Y: r.Float32(), Z: r.Float32()}
}

func newFace(r *rand.Rand) *shapes.Face {
	return &shapes.Face{P: newPoint(r), Q: newPoint(r), R: newPoint(r), Up: newPoint(r)}
}

func newArticle(r *rand.Rand) *shapes.Article {
	return &shapes.Article{Count: r.Int32N(256) - 128, Box: r.Uint32N(256), Name: word(r, 10)}
}

func newPlace(r *rand.Rand) *shapes.Place {
	return &shapes.Place{Latitude: r.Float64(), Longitude: r.Float64(), Altitude: r.Float64()}
}

func newVisit(r *rand.Rand) *shapes.Visit {
	return &shapes.Visit{
		Driver: word(r, 10), At: newPlace(r), Planned: newPlace(r), Offset: &shapes.Point{X: r.Float32(), Y: r.Float32()}, Minutes: r.Float32(),
		Rings: r.Uint32N(1 << 16), Floor: r.Uint32N(1 << 16), Opened: heads(r), Neighbour: heads(r), Photo: heads(r), Temperature: r.Int32(), Key: newOctets(r),
		Remark: maybe(r, func(r *rand.Rand) *string { return proto.String(word(r, 10)) }), Late: heads(r), Rain: heads(r), Dog: heads(r),
	}
}

func newParcel(r *rand.Rand) *shapes.Parcel {
	return &shapes.Parcel{
		Stage: shapes.Stage(r.IntN(4)), StageBefore: shapes.Stage(r.IntN(4)), Number: r.Int64(), Depot: word(r, 4), Shelf: r.Uint32(), Gift: newArticle(r),
		NextDepot: maybe(r, func(r *rand.Rand) *string { return proto.String(word(r, 4)) }), PackedAt: r.Int64(), SentAt: r.Int64(), DueAt: r.Int64(),
		Insured: maybe(r, func(r *rand.Rand) *bool { return proto.Bool(heads(r)) }), Attempts: r.Uint32N(1 << 16), Weight: r.Float32(), Volume: r.Float32(),
		Route: r.Uint32(), Stop: r.Uint32(), Discount: r.Float32(), Points: r.Int32(), Check: r.Int32(),
		Article: many(r, r.IntN(64), newArticle), Sample: many(r, r.IntN(27), newArticle), Handling: newHandling(r), LastSeen: maybe(r, newPlace),
		Carrier:    maybe(r, func(r *rand.Rand) *shapes.Carrier { return &shapes.Carrier{Key: newOctets(r), Visit: newVisit(r)} }),
		FirstVisit: maybe(r, newVisit), LastVisit: maybe(r, newVisit), Paid: heads(r), Notices: newNotices(r),
	}
}

func newHandling(r *rand.Rand) *shapes.Handling {
	return &shapes.Handling{
		MinCelsius: r.Float32(), MaxCelsius: r.Float32(), Fragile: heads(r), Upright: heads(r), Dry: heads(r), Signed: heads(r), Adult: heads(r),
	}
}

func newNotices(r *rand.Rand) *shapes.Notices {
	text := func(r *rand.Rand) string { return word(r, 10) }
	return &shapes.Notices{
		Sent: many(r, r.IntN(30), text), Open: many(r, r.IntN(10), text), ByMail: heads(r), ByText: heads(r), ByPost: heads(r), Weekly: heads(r),
		Offers: heads(r), News: heads(r), Surveys: heads(r), Partners: heads(r),
	}
}

func newUpdate(r *rand.Rand) *shapes.Update {
	return &shapes.Update{Contact: many(r, 8+r.IntN(16), newContact), Serial: r.Uint32(), Radius: r.Float32(), Tile: many(r, r.IntN(16), newTile)}
}

func newContact(r *rand.Rand) *shapes.Contact {
	heading := func(r *rand.Rand) uint32 { return r.Uint32N(1 << 16) }
	speed := func(r *rand.Rand) int32 { return r.Int32N(1<<16) - 1<<15 }
	return &shapes.Contact{
		Age: r.Uint32N(256), Id: r.Uint32(), Vehicle: maybe(r, func(r *rand.Rand) *shapes.Vehicle { return shapes.Vehicle(r.IntN(6)).Enum() }),
		Course: &shapes.Course{Heading: heading(r), Speed: speed(r)}, Fleet: maybe(r, func(r *rand.Rand) *uint32 { return proto.Uint32(heading(r)) }),
		Doors:  many(r, r.IntN(8), heads),
		Motion: &shapes.Motion{Grade: r.Int32N(256) - 128, Heading: heading(r), Position: &shapes.Point{X: r.Float32(), Y: r.Float32()}, Speed: speed(r)},
		Axles:  many(r, r.IntN(8), heading),
	}
}

func newTile(r *rand.Rand) *shapes.Tile {
	return &shapes.Tile{
		Cell: &shapes.Cell{X: r.Int32N(256) - 128, Y: r.Int32N(256) - 128},
		Data: many(r, 16+r.IntN(112), func(r *rand.Rand) byte { return byte(r.Uint32()) }),
	}
}
