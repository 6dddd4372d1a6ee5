package bench

import "github.com/freehold-go/freehold/arena"

// addFrameArena adds the ways of freehold to frame.
func addFrameArena() {
	addOwn("frame",
		Contestant{Name: arenaNew, Note: "New[T] in the default arena, reset after each frame", Prepare: Frame(frameNew)},
		Contestant{Name: arenaOf, Note: "a handle that has looked T up, reset after each frame", Prepare: Frame(frameOf)},
		Contestant{Name: arenaPool, Note: "Get and Put of an arena for each frame, and a handle", Prepare: Frame(framePooled), FullOnly: true},
	)
	addFrameGoArena()
	AddBar(Bar{"frame, p99.9, " + arenaOf + " by the Go heap", 0.5, ExtraRatio("frame", arenaOf, heapName, "frame_p99.9_ns")})
	AddBar(Bar{"frame, collector cycles caused by the frames, " + arenaOf, 0, ExtraValue("frame", arenaOf, "frame_gc_cycles")})
}

func frameNew(r *Run) FrameWay {
	a := arenaReused.keepArena(r, defaultArena, 0)
	return FrameWay{
		Fill: func(targets []*FrameTarget, k int) (head *FrameObject) {
			for i, target := range targets {
				o := arena.New[FrameObject](a)
				o.Next, o.Target, o.X, o.Y = head, target, i, k
				head = o
			}
			return head
		},
		Free: func() { a.Reset(arena.Keep) },
	}
}

func frameOf(r *Run) FrameWay {
	a := arenaReused.keepArena(r, defaultArena, 0)
	return FrameWay{
		Fill: func(targets []*FrameTarget, k int) *FrameObject {
			return fillFrame(arena.Of[FrameObject](a), targets, k)
		},
		Free: func() { a.Reset(arena.Keep) },
	}
}

func fillFrame(of arena.Typed[FrameObject], targets []*FrameTarget, k int) (head *FrameObject) {
	for i, target := range targets {
		o := of.New()
		o.Next, o.Target, o.X, o.Y = head, target, i, k
		head = o
	}
	return head
}

func framePooled(r *Run) FrameWay {
	pool := &arena.Pool{Bytes: pooledBytesFor(sizeOf[FrameObject](r.N))}
	var a *arena.Arena
	return FrameWay{
		Fill: func(targets []*FrameTarget, k int) *FrameObject {
			a = pool.Get()
			return fillFrame(arena.Of[FrameObject](a), targets, k)
		},
		Free: func() { pool.Put(a) },
	}
}

// addJSONArena adds the ways of freehold to json.
func addJSONArena() {
	addOwn("json",
		Contestant{Name: arenaNew, Note: "New, String and MakeSlice in an arena for each document that is alive, reset", Prepare: JSON(jsonNew)},
		Contestant{Name: arenaOf, Note: "handles that have looked the types up, and String; reset", Prepare: JSON(jsonOf(defaultArena, arenaReused))},
		Contestant{Name: arenaNoReuse, Note: "handles to an arena that leaves its memory to the collector, and String; reset", Prepare: JSON(jsonOf(noReuseArena, arenaReused))},
		Contestant{Name: "arena Of, fresh", Note: "the same with an arena made for each document, and freed", Prepare: JSON(jsonOf(defaultArena, arenaFresh))},
	)
	addJSONGoArena()
	for _, document := range structuredDocuments {
		AddBar(Bar{"json, " + document + ", " + arenaOf + " by the Go heap", 0.6, InputRatio("json", document, arenaOf, heapName)})
		AddBar(Bar{"json, " + document + ", GC cycles of " + arenaOf + " by the Go heap's", 0.2, cycleRatio("json", document, arenaOf, heapName)})
	}
	for _, document := range structuredDocuments {
		AddBar(Bar{"json, " + document + ", " + arenaNoReuse + " by the Go heap", 0.8, InputRatio("json", document, arenaNoReuse, heapName)})
	}
	for _, document := range stringDocuments {
		AddBar(Bar{"json, " + document + ", " + arenaNoReuse + " by the Go heap", 1, InputRatio("json", document, arenaNoReuse, heapName)})
		AddBar(Bar{"json, " + document + ", " + arenaOf + " by the Go heap", 0.9, InputRatio("json", document, arenaOf, heapName)})
	}
}

func jsonNew(r *Run) JSONWay {
	a := arenaReused.keepArena(r, defaultArena, 0)
	return JSONWay{
		Node: func() *JSONNode { return arena.New[JSONNode](a) },
		Text: func(b []byte) string { return arena.String(a, b) },
		SetItems: func(n *JSONNode, items []*JSONNode) {
			n.Items = arena.MakeSlice[*JSONNode](a, len(items), len(items))
			copy(n.Items, items)
		},
		SetMembers: func(n *JSONNode, members []JSONMember) {
			n.Members = arena.MakeSlice[JSONMember](a, len(members), len(members))
			copy(n.Members, members)
		},
		Drop: func(*JSONNode) { a.Reset(arena.Keep) },
	}
}

// A jsonTypes is an arena with handles to what a document is made of.
type jsonTypes struct {
	arena   *arena.Arena
	nodes   arena.Typed[JSONNode]
	items   arena.Typed[*JSONNode]
	members arena.Typed[JSONMember]
}

func jsonTypesOf(a *arena.Arena) jsonTypes {
	return jsonTypes{a, arena.Of[JSONNode](a), arena.Of[*JSONNode](a), arena.Of[JSONMember](a)}
}

func jsonOf(make newArena, life arenaLife) func(r *Run) JSONWay {
	return func(r *Run) JSONWay {
		types := jsonTypesOf(make(0))
		r.Cleanup(func() { types.arena.Free() })
		return JSONWay{
			Node: func() *JSONNode { return types.nodes.New() },
			Text: func(b []byte) string { return arena.String(types.arena, b) },
			SetItems: func(n *JSONNode, items []*JSONNode) {
				n.Items = types.items.MakeSlice(len(items), len(items))
				copy(n.Items, items)
			},
			SetMembers: func(n *JSONNode, members []JSONMember) {
				n.Members = types.members.MakeSlice(len(members), len(members))
				copy(n.Members, members)
			},
			Drop: func(*JSONNode) {
				life.end(types.arena)
				if life == arenaFresh {
					types = jsonTypesOf(make(0))
				}
			},
		}
	}
}
