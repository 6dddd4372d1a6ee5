// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// protoShare is the least share of CPU time that the decoding of Protocol Buffers must take at one
	// place, allocation included.
	protoShare = 0.05
	// protoKept is the part of the decoded bytes that may be in use at the window's end. If it is more,
	// the program keeps its messages, and an arena would keep whole requests alive for them.
	protoKept = 0.1
	// protoArena is the most that arenaproto takes of proto.Unmarshal's CPU time, collector included, with
	// an arena that is reset after each message: that of one span of 529 bytes. Larger messages took
	// 0.10 to 0.20. The folder benchmarks measures it.
	protoArena = 0.25
	// protoArenaVT is what arenaproto takes of the CPU time of vtprotobuf's UnmarshalVT, measured in the
	// same way for a profile of 90 KB, the only message that was measured with both.
	protoArenaVT = 0.3
	// protoDoubt is the uncertain part of the gain: the ratio differs by type of message and by size.
	protoDoubt = 0.2
)

// protoUse is the cost of one place's decoding of Protocol Buffers.
type protoUse struct {
	*bundle
	entry *stack.Frame // the function that decodes
	inner float64      // CPU time outside the allocator
	grpc  bool         // gRPC calls the decoder
}

// findProto finds places that decode Protocol Buffers to messages on the Go heap, through protobuf-go
// or vtprotobuf, in gRPC's codecs, too.
func findProto(a *account) []Finding {
	uses := map[string]*protoUse{}
	var list []*protoUse
	useOf := func(frames []*stack.Frame) *protoUse {
		i := stack.Outermost(frames, decodesProto)
		if i < 0 || i+1 == len(frames) || slices.ContainsFunc(frames[:i], hasOwnMessages) || slices.ContainsFunc(frames[i:], initialises) {
			return nil
		}
		if slices.ContainsFunc(frames[i:], isArenaProto) {
			return nil // arenaproto hands on what it does not decode itself.
		}
		from := i + 1
		for from < len(frames)-1 && isGRPC(frames[from]) {
			from++ // To the generated handler, whose module may not be the program's.
		}
		owner := stack.Caller(frames, from)
		u := uses[owner.Func]
		if u == nil {
			u = &protoUse{bundle: &bundle{owner: owner}, entry: frames[i], grpc: isGRPC(frames[i+1])}
			uses[owner.Func] = u
			list = append(list, u)
		}
		return u
	}
	for _, st := range a.samples {
		if u := useOf(st.frames); u != nil && !st.class.IsGC() && st.class != stack.Profiler {
			u.spent += st.ns
			if st.site == nil || st.class == stack.Mutator {
				u.inner += st.ns
			}
		}
	}
	for _, s := range a.free() {
		if u := useOf(s.frames); u != nil {
			u.sites = append(u.sites, s)
		}
	}
	var found []Finding
	for _, u := range list {
		t := a.sum(u.sites)
		if a.share(u.spent) < protoShare || t.inuseBytes > protoKept*t.allocBytes {
			continue
		}
		if len(u.sites) > 0 && !u.grpc && a.leaves(u.sites[0]) {
			continue // The messages go to code of others, such as the reply of a call, which no arena knows the end of.
		}
		found = append(found, u.finding(a))
	}
	return ranked(found)
}

// hasOwnMessages reports whether f belongs to a package whose messages arenaproto does not fill, or to arenaproto, which
// fills messages that proto.Unmarshal gets from its function Into.
func hasOwnMessages(f *stack.Frame) bool {
	return isArenaProto(f) || f.Package == "google.golang.org/protobuf/types/dynamicpb" || stack.Within(f.Package, "buf.build/go/hyperpb")
}

func isArenaProto(f *stack.Frame) bool {
	return stack.Within(f.Package, "github.com/freehold-go/freehold/adapters/arenaproto")
}

// isGRPC reports whether f, which calls the decoder, is a codec of gRPC.
func isGRPC(f *stack.Frame) bool {
	return stack.Within(f.Package, "google.golang.org/grpc") || strings.HasSuffix(f.Package, "/codec/grpc")
}

func (u *protoUse) finding(a *account) Finding {
	slices.SortStableFunc(u.sites, func(s, t *site) int { return cmp.Compare(t.cpuNow(), s.cpuNow()) })
	ratio := protoArena
	if ofVT(u.entry) {
		ratio = protoArenaVT
	}
	// All of it goes, and the part ratio of it comes back, as time in the decoder.
	g := a.gainWith(a.sum(u.sites).dead().times(1-ratio), (1-ratio)*u.inner, protoDoubt)
	f := a.findingAt(u.owner, u.sites, g, u.inner)
	f.Site = siteAt(u.owner)
	f.Evidence["proto_cpu_share"] = round(a.share(u.spent))
	f.Evidence["entry"] = u.entry.Func
	f.Evidence["grpc"] = u.grpc
	f.Detail = u.owner.Place() + " decodes Protocol Buffers to the Go heap, through " + stack.ShortName(u.entry.Func) + ": " +
		terminal.Percent(a.share(u.spent)) + " of the CPU time, without the collection of the messages."
	f.Remedy = u.remedy()
	f.Check = []string{
		"No code keeps a message, or a string or slice of one, for longer than the arena's values are valid: the tests pass with FREEHOLD=guard.",
		"`freehold bench -full -type import/path.Message -docs 'GLOB'` on your messages, and arenaproto.Prepare, which says which fields protobuf-go decodes.",
	}
	return f
}

// remedy is another decoder, or, below gRPC's codec, a registrar that brings it.
func (u *protoUse) remedy() Remedy {
	if !u.grpc {
		return Remedy{
			Text:    "Decode with arenaproto.Unmarshal into an arena if the messages of a request or batch end together: it fills the same generated types and leaves no garbage.",
			Snippet: "- m := new(pb.Order)\n- err := proto.Unmarshal(data, m)\n+ m, err := arenaproto.New[pb.Order](a, data)\n  ...\n+ a.Reset(arena.Keep) // The messages are no longer needed.",
		}
	}
	return Remedy{
		Text: "In a server, register the services through grpcarena.Registrar with arenaproto.Into: gRPC then decodes requests into the arenas of their calls. In a client, decode replies into an arena with " +
			"grpcarena.ReplyInto. Requests below a kilobyte gain little: an arena for each call costs as much as decoding them.",
		Snippet: "- server := grpc.NewServer()\n- pb.RegisterOrdersServer(server, service)\n+ server := grpc.NewServer(grpc.StatsHandler(grpcarena.Handler(grpcarena.Options{Reuse: true})))\n" +
			"+ pb.RegisterOrdersServer(grpcarena.Registrar(server, arenaproto.Into), service)",
	}
}
