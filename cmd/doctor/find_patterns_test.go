// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// pattern is a program's profile and what must be found in it.
type pattern struct {
	name    string
	fake    func(*fake)
	metrics map[string]float64
	id      string  // of the finding that must be there, or, with a minus before it, that must not
	gain    float64 // SameMemory that follows from the formula on the finding's page
	site    string  // part of the site's function
	text    string  // part of detail, remedy and snippet
}

func checkPatterns(t *testing.T, list []pattern) {
	t.Helper()
	for _, p := range list {
		t.Run(p.name, func(t *testing.T) {
			f := newFake()
			p.fake(f)
			r := Diagnose(t.Context(), with(f.evidence(), p.metrics))
			id, absent := strings.CutPrefix(p.id, "-")
			var got *Finding
			var ids []string
			for i := range r.Findings {
				ids = append(ids, r.Findings[i].ID)
				if r.Findings[i].ID == id && got == nil {
					got = &r.Findings[i]
				}
			}
			switch {
			case absent && got != nil:
				t.Fatalf("found: %+v", *got)
			case absent:
				return
			case got == nil:
				t.Fatalf("not found, but %q", ids)
			}
			if math.Abs(got.Gain.SameMemory-p.gain) > 0.001 {
				t.Errorf("gain %.4f, want %.4f", got.Gain.SameMemory, p.gain)
			}
			if got.Gain.Error <= 0 {
				t.Errorf("error %g", got.Gain.Error)
			}
			if !strings.Contains(got.Site.Func, p.site) {
				t.Errorf("site %q, want %q in it", got.Site.Func, p.site)
			}
			if text := got.Detail + "\n" + got.Remedy.Text + "\n" + got.Remedy.Snippet + "\n" + strings.Join(got.Check, "\n"); !strings.Contains(text, p.text) {
				t.Errorf("%q is not in\n%s", p.text, text)
			}
			if !strings.HasSuffix(got.Remedy.Doc, "/"+id+".md") || len(got.Check) == 0 || got.Remedy.Text == "" || got.Remedy.Snippet == "" || got.CPUShare <= 0 {
				t.Errorf("incomplete: %+v", *got)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	// decode is a service that spends most of its time in a decoder of the package.
	decode := func(pkg string) func(*fake) {
		return func(f *fake) {
			in := ";" + pkg + ".(*decodeState).object;" + pkg + ".Unmarshal;main.handle;main.main"
			f.Ran(pkg+".stateInString;"+pkg+".checkValid;"+pkg+".Unmarshal;main.handle;main.main", 20)
			f.Ran("reflect.Value.Set"+in, 20)
			f.Ran("strconv.ParseFloat"+in, 10)
			f.Ran(pkg+".(*decodeState).object;"+pkg+".Unmarshal;main.handle;main.main", 20)
			f.Ran("runtime.mallocgc;runtime.slicebytetostring"+in, 10)
			f.Ran("main.work;main.main", 20)
			f.Made(pkg+".(*decodeState).object;"+pkg+".Unmarshal;main.handle;main.main", 64, 1_000_000, 100)
		}
	}
	anyTree := func(f *fake) {
		in := ";encoding/json.(*decodeState).objectInterface;encoding/json.Unmarshal;main.handle;main.main"
		f.Ran("encoding/json.stateInString;encoding/json.checkValid;encoding/json.Unmarshal;main.handle;main.main", 20)
		f.Ran("encoding/json.(*decodeState).convertNumber"+in, 30)
		f.Ran("runtime.mallocgc;runtime.convT64"+in, 30)
		f.Ran("main.work;main.main", 10)
		f.Collector(10, 0)
		f.Made("encoding/json.(*decodeState).objectInterface;encoding/json.Unmarshal;main.handle;main.main", 64, 1_000_000, 0)
	}
	generated := func(f *fake) {
		f.Ran("main.(*order).UnmarshalJSON;main.handle;main.main", 50)
		f.Ran("example.com/fastjson.(*Lexer).String;example.com/fastjson.Decode;main.handle;main.main", 30)
		f.Ran("reflect.TypeOf;example.com/fastjson.Decode;main.handle;main.main", 1)
	}
	checkPatterns(t, []pattern{
		// All but the check, the numbers and the values stays away: 70 of 100 samples outside the
		// allocator, less 20 and 10.
		{"decoding into structs", decode("encoding/json"), nil, "json-reflection", 0.64, "main.handle", "arenajson.Unmarshal"},
		{"a copy under another name", decode("main/internal/codec"), nil, "json-reflection", 0.40, "main.handle", "codec.Unmarshal"},
		// 50 outside the allocator less the check of 20, 30 in it, and all of the 10 of marking,
		// since nothing else allocates.
		{"decoding into any", anyTree, nil, "json-reflection", 0.30 + 0.30 + 0.10*(1+besideMark*0.09), "main.handle", "maps and slices of any"},
		{"decoding into any with Go 1.27", func(f *fake) {
			f.Ran("encoding/json/v2.makeMapArshaler.func3;encoding/json/v2.makeInterfaceArshaler.func2;encoding/json/v2.Unmarshal;main.handle;main.main", 50)
			f.Ran("main.work;main.main", 50)
		}, nil, "json-reflection", 0.50, "main.handle", "maps and slices of any"},
		{"without reflection", generated, nil, "-json-reflection", 0, "", ""},
		{"encoding", func(f *fake) {
			f.Ran("reflect.Value.Field;encoding/json.structEncoder.encode;encoding/json.(*encodeState).marshal;encoding/json.Marshal;main.handle;main.main", 40)
			f.Ran("encoding/json.appendString;encoding/json.(*encodeState).marshal;encoding/json.Marshal;main.handle;main.main", 20)
			f.Ran("main.work;main.main", 40)
		}, nil, "json-reflection", 0.40, "main.handle", "both encoders write the same text"},
		{"encoding any with Go 1.27", func(f *fake) {
			f.Ran("reflect.Value.MapRange;encoding/json/v2.makeMapArshaler.func2;encoding/json/v2.makeInterfaceArshaler.func1;encoding/json.Marshal;main.handle;main.main", 50)
			f.Ran("main.work;main.main", 50)
		}, nil, "json-reflection", 0.50, "main.handle", "Append the fields by hand"},
		{"little of it", func(f *fake) {
			f.Ran("reflect.Value.Field;encoding/json.structEncoder.encode;encoding/json.(*encodeState).marshal;encoding/json.Marshal;main.handle;main.main", 2)
			f.Ran("main.work;main.main", 98)
		}, nil, "-json-reflection", 0, "", ""},
	})
}

func TestProto(t *testing.T) {
	const proto, impl = "google.golang.org/protobuf/proto", "google.golang.org/protobuf/internal/impl"
	// decode is a program that spends some of its time in a decoder, and part of that in the allocator.
	decode := func(in string, outside, inside, kept int64) func(*fake) {
		return func(f *fake) {
			f.Ran(impl+".(*MessageInfo).unmarshalPointer;"+in, outside)
			f.Ran("runtime.mallocgc;reflect.unsafe_New;"+impl+".consumeMessage;"+in, inside)
			f.Ran("main.work;main.main", 100-outside-inside)
			f.Made(impl+".consumeMessage;"+in, 64, 1_000_000, kept)
		}
	}
	const plain = proto + ".UnmarshalOptions.unmarshal;" + proto + ".Unmarshal;main.handle;main.main"
	const codec = proto + ".UnmarshalOptions.unmarshal;" + proto + ".Unmarshal;google.golang.org/grpc/encoding/proto.(*codecV2).Unmarshal;google.golang.org/grpc.recv;" +
		"google.golang.org/grpc.(*Server).processUnaryRPC.func2;example.com/pb._Orders_Put_Handler;google.golang.org/grpc.(*Server).processUnaryRPC"
	const vt = "main/pb.(*Item).UnmarshalVT;main/pb.(*Order).UnmarshalVT;main.handle;main.main"
	checkPatterns(t, []pattern{
		// Of 40 samples outside the allocator and 20 in it, a quarter comes back.
		{"proto.Unmarshal", decode(plain, 40, 20, 100), nil, "protobuf-decoding", 0.45, "main.handle", "arenaproto.New[pb.Order]"},
		{"UnmarshalOptions", decode(strings.ReplaceAll(plain, proto+".Unmarshal;", proto+".UnmarshalOptions.Unmarshal;"), 40, 20, 100), nil, "protobuf-decoding", 0.45, "main.handle", "arenaproto"},
		{"gRPC's codec", decode(codec, 40, 20, 100), nil, "protobuf-decoding", 0.45, "pb._Orders_Put_Handler", "grpcarena.Registrar"},
		// Three tenths come back.
		{"vtprotobuf", decode(vt, 40, 20, 100), nil, "protobuf-decoding", 0.42, "main.handle", "arenaproto.New"},
		{"little of it", decode(plain, 3, 1, 100), nil, "-protobuf-decoding", 0, "", ""},
		{"messages that stay", decode(plain, 40, 20, 500_000), nil, "-protobuf-decoding", 0, "", ""},
		{"a start", decode(strings.ReplaceAll(plain, "main.handle", "main.init.0"), 40, 20, 100), nil, "-protobuf-decoding", 0, "", ""},
		{"arenaproto's Into", decode("github.com/freehold-go/freehold/adapters/arenaproto.(*into).unmarshal;"+plain, 40, 20, 100), nil, "-protobuf-decoding", 0, "", ""},
		{"a field that arenaproto hands on", decode(strings.ReplaceAll(plain, "main.handle", "github.com/freehold-go/freehold/adapters/arenaproto.Unmarshal;main.handle"), 40, 20, 100),
			nil, "-protobuf-decoding", 0, "", ""},
		{"a dynamic message", decode("google.golang.org/protobuf/types/dynamicpb.(*Message).Set;"+plain, 60, 0, 100), nil, "-protobuf-decoding", 0, "", ""},
		{"encoding", decode(strings.ReplaceAll(plain, "nmarshal", "arshal"), 40, 20, 100), nil, "-protobuf-decoding", 0, "", ""},
	})
}

func TestGrowing(t *testing.T) {
	slice := func(in string, counts ...int64) func(*fake) {
		return func(f *fake) {
			f.Ran("runtime.mallocgc;runtime.growslice;"+in, 30)
			f.Ran("runtime.memmove;runtime.growslice;"+in, 10)
			f.Ran("main.work;main.main", 60)
			for i, n := range counts {
				f.Made(in, 1024<<i, n, 0)
			}
		}
	}
	mapped := func(in string, samples int64) func(*fake) {
		return func(f *fake) {
			grow := "internal/runtime/maps.(*table).rehash;internal/runtime/maps.(*table).grow;runtime.mapassign_faststr;" + in
			f.Ran("runtime.memhash;"+grow, samples)
			f.Ran("runtime.mallocgc;"+grow, 10)
			f.Ran("main.work;main.main", 90-samples)
			f.Made(in, 4096, 100_000, 0)
		}
	}
	checkPatterns(t, []pattern{
		// Of 1+2+4+8 KiB the 8 are needed, and one object of four; the copies are not: 3/4 of 30
		// samples, and 10.
		{"slice", slice("main.collect;main.main", 1000, 1000, 1000, 1000), nil, "growing-slice", 0.225 + 0.10, "main.collect", "make([]T, 0, len(input))"},
		{"slice with capacity", slice("main.collect;main.main", 0, 0, 0, 1000), nil, "-growing-slice", 0, "", ""},
		{"slices of several lengths", slice("main.collect;main.main", 8000, 200, 100, 100), nil, "-growing-slice", 0, "", ""},
		{"slice in the code of others", slice("example.com/lib@v1/x.Collect;main.main", 1000, 1000, 1000, 1000), nil, "-growing-slice", 0, "", ""},
		{"buffer", slice("bytes.growSlice;bytes.(*Buffer).grow;main.collect;main.main", 1000, 1000, 1000, 1000), nil, "growing-slice", 0.325, "bytes.growSlice", ""},
		{"a buffer of the standard library's", slice("bytes.growSlice;bytes.(*Buffer).grow;encoding/json.Indent;main.collect;main.main", 1000, 1000, 1000, 1000), nil, "-growing-slice", 0, "", ""},
		// The moves, and half of the allocations for them.
		{"map", mapped("main.count;main.main", 30), nil, "growing-map", 0.30 + 0.05, "main.count", "make(map[K]V, len(input))"},
		{"map that has room", func(f *fake) {
			f.Ran("runtime.memhash;runtime.mapassign_faststr;main.count;main.main", 50)
			f.Ran("main.work;main.main", 50)
		}, nil, "-growing-map", 0, "", ""},
		{"map of others", mapped("net/textproto.readMIMEHeader;main.main", 30), nil, "-growing-map", 0, "", ""},
	})
}

func TestStrings(t *testing.T) {
	made := func(entry, in string, kept int64) func(*fake) {
		return func(f *fake) {
			f.Ran("runtime.mallocgc;"+entry+";"+in, 30)
			f.Ran("runtime.memmove;"+entry+";"+in, 10)
			f.Ran("main.work;main.main", 60)
			f.Made(in, 64, 1_000_000, kept)
		}
	}
	checkPatterns(t, []pattern{
		{"concatenation", made("runtime.rawstring;runtime.concatstrings", "main.key;main.main", 0), nil, "string-building", 0.40, "main.key", "strconv.AppendInt"},
		{"a quarter of them kept", made("runtime.rawstring;runtime.concatstrings", "main.key;main.main", 250_000), nil, "string-building", 0.30, "main.key", ""},
		{"all of them kept", made("runtime.rawstring;runtime.concatstrings", "main.key;main.main", 900_000), nil, "-string-building", 0, "", ""},
		{"Sprintf", made("runtime.slicebytetostring", "fmt.Sprintf;main.key;main.main", 0), nil, "string-building", 0.40, "fmt.Sprintf", "fmt.Appendf"},
		{"the result alone", made("runtime.slicebytetostring", "main.key;main.main", 0), nil, "-string-building", 0, "", ""},
		{"bytes of a string", made("runtime.stringtoslicebyte", "main.key;main.main", 0), nil, "string-building", 0.40, "main.key", "io.WriteString"},
		{"strings inside encoding/xml", made("runtime.slicebytetostring", "strconv.FormatInt;encoding/xml.(*printer).marshalValue;encoding/xml.Marshal;main.key;main.main", 0), nil, "-string-building", 0, "", ""},
		{"bytes, not strings", made("runtime.makeslice", "main.key;main.main", 0), nil, "-string-building", 0, "", ""},
	})
}

func TestStacksAndFinalizers(t *testing.T) {
	setting := func(samples int64) func(*fake) {
		return func(f *fake) {
			f.Ran("runtime.addspecial;runtime.addfinalizer;runtime.SetFinalizer.func2;runtime.systemstack;runtime.SetFinalizer;main.open;main.main", samples)
			f.Ran("runtime.queuefinalizer;runtime.freeSpecial;runtime.(*sweepLocked).sweep;runtime.bgsweep", samples)
			f.Ran("main.(*handle).close;runtime.runFinalizers", 10)
			f.Ran("main.work;main.main", 90-2*samples)
		}
	}
	growth := "runtime.adjustframe;runtime.copystack;runtime.newstack;main.descend;main.serve"
	checkPatterns(t, []pattern{
		{"finalizers", setting(20), map[string]float64{evidence.MetricFinalizersQueued: 1e6}, "finalizers", 0.40, "main.open", "defer h.Close()"},
		{"finalizers that nobody counts", setting(20), nil, "finalizers", 0.40, "main.open", ""},
		{"few finalizers", setting(20), map[string]float64{evidence.MetricFinalizersQueued: 10}, "-finalizers", 0, "", ""},
		{"a finalizer's own work", setting(0), map[string]float64{evidence.MetricFinalizersQueued: 1e6}, "-finalizers", 0, "", ""},
		{"stacks that grow", func(f *fake) { f.Ran(growth, 30); f.Ran("main.work;main.main", 70) }, nil, "large-stacks", 0.30, "main.serve", "from a channel"},
		{"preemption", func(f *fake) {
			f.Ran("runtime.schedule;runtime.goschedImpl;runtime.gopreempt_m;runtime.newstack;main.work;main.main", 30)
			f.Ran("main.work;main.main", 70)
		}, nil, "-large-stacks", 0, "", ""},
		{"stacks that are deep", func(f *fake) {
			f.Ran("runtime.scanframeworker;runtime.scanstack;runtime.markroot;runtime.gcDrain;runtime.gcBgMarkWorker", 20)
			f.Ran("main.work;main.main", 80)
		}, map[string]float64{evidence.MetricScanStack: 50e6, evidence.MetricLiveHeap: 50e6, evidence.MetricGoroutines: 10_000}, "large-stacks", 0.20, "", "10000 goroutines"},
	})
}

// TestGoroutinesOfOthers wants goroutines that a library starts to be information: its user cannot keep
// them.
func TestGoroutinesOfOthers(t *testing.T) {
	for first, info := range map[string]bool{"main.serve": false, "main.main.func1": false, "example.com/dns@v1/server.(*Server).packet": true, "net/http.(*conn).serve": true,
		"google.golang.org/grpc.(*Server).serveStreams.func1": false} {
		f := newFake()
		f.Ran("runtime.adjustframe;runtime.copystack;runtime.newstack;main.descend;"+first, 30)
		f.Ran("main.work;main.main", 70)
		e := f.evidence()
		e.Main = "example.com/shop"
		found := findingOf(Diagnose(t.Context(), e), "large-stacks")
		if found == nil || (found.Severity == SeverityInfo) != info || strings.Contains(found.Remedy.Text, "Keep goroutines") == (info || strings.Contains(first, "grpc")) {
			t.Errorf("%s: %+v", first, found)
		}
	}
}

func TestProcs(t *testing.T) {
	crowd := func(samples int64) func(*fake) {
		return func(f *fake) {
			f.Ran("runtime.lock2;runtime.bgsweep", samples)
			f.Ran("main.work;main.main", 1000-samples)
		}
	}
	checkPatterns(t, []pattern{
		// Half of what goes with the number of Ps, for the 62 of 64 that have no processor.
		{"more than there are", crowd(500), map[string]float64{evidence.MetricProcs: 64, evidence.MetricNumCPU: 2}, "too-many-procs", 0.5 * 0.5 * 62 / 64, "", "there are 2 processors"},
		{"as many as there are", crowd(500), map[string]float64{evidence.MetricProcs: 2, evidence.MetricNumCPU: 2}, "-too-many-procs", 0, "", ""},
		// Ten seconds of CPU in ten seconds: one processor of 64, so that three would do.
		{"more than are used", crowd(500), map[string]float64{evidence.MetricProcs: 64, evidence.MetricNumCPU: 64}, "too-many-procs", 0.5 * 0.5 * 61 / 64, "", "keeps 1.00 processors busy"},
		{"they do no harm", crowd(20), map[string]float64{evidence.MetricProcs: 64, evidence.MetricNumCPU: 2}, "-too-many-procs", 0, "", ""},
		{"nobody says how many", crowd(500), nil, "-too-many-procs", 0, "", ""},
	})
}

func TestLadder(t *testing.T) {
	for _, c := range []struct {
		sizes          map[int64]float64
		bytes, objects float64
	}{
		{map[int64]float64{8: 10, 16: 10, 32: 10}, 1 - 32.0/56, 2.0 / 3},
		{map[int64]float64{8: 10, 16: 4}, 1 - (6*8+4*16.0)/(80+64), 1 - 10.0/14},
		{map[int64]float64{64: 5}, 0, 0},
		{map[int64]float64{64: -1}, 0, 0},
	} {
		bytes, objects, _ := ladder(c.sizes)
		if math.Abs(bytes-c.bytes) > 1e-9 || math.Abs(objects-c.objects) > 1e-9 {
			t.Errorf("%v: %g of the bytes and %g of the objects, want %g and %g", c.sizes, bytes, objects, c.bytes, c.objects)
		}
	}
}

func TestSetupAndBoxing(t *testing.T) {
	compiling := func(in string, samples int64) func(*fake) {
		return func(f *fake) {
			f.Ran("regexp/syntax.(*parser).parse;regexp/syntax.Parse;regexp.compile;regexp.MustCompile;"+in, samples)
			f.Ran("runtime.mallocgc;runtime.newobject;regexp/syntax.(*compiler).init;regexp.compile;regexp.MustCompile;"+in, samples/2)
			f.Ran("main.work;main.main", 100)
			f.Made("regexp/syntax.(*compiler).init;regexp.compile;regexp.MustCompile;"+in, 64, 100_000, 0)
		}
	}
	boxing := func(in string, kept int64) func(*fake) {
		return func(f *fake) {
			f.Ran("runtime.mallocgc;runtime.convT64;"+in, 20)
			f.Ran("main.work;main.main", 80)
			f.Made(in, 8, 10_000_000, kept)
		}
	}
	checkPatterns(t, []pattern{
		{"regular expression", compiling("main.handle;main.main", 20), nil, "repeated-setup", 30.0 / 130, "main.handle", "regexp.MustCompile"},
		{"a copy of the package", func(f *fake) {
			f.Ran("example.com/fork@v1/regexp.onepass;example.com/fork@v1/regexp.compile;main.handle;main.main", 20)
			f.Ran("main.work;main.main", 80)
		}, nil, "repeated-setup", 0.20, "main.handle", "at package level"},
		{"before main", compiling("main.init;runtime.doInit1;runtime.main", 20), nil, "-repeated-setup", 0, "", ""},
		{"once", compiling("main.handle;main.main", 2), nil, "-repeated-setup", 0, "", ""},
		{"matching", func(f *fake) {
			f.Ran("regexp.(*Regexp).backtrack;regexp.(*Regexp).MatchString;main.handle;main.main", 100)
		}, nil, "-repeated-setup", 0, "", ""},
		{"boxing", boxing("main.push;main.main", 0), nil, "interface-boxing", 0.20, "main.push", "to an interface allocates"},
		{"boxes that are kept", boxing("main.push;main.main", 9_000_000), nil, "-interface-boxing", 0, "", ""},
		{"boxing in the code of others", boxing("example.com/lib@v1/x.Push;main.main", 0), nil, "-interface-boxing", 0, "", ""},
	})
}
