package profilemerge

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/arena"
)

func inputs(n, samples int) (list []*profile.Profile) {
	for i := range n {
		list = append(list, Input(uint64(i), samples))
	}
	return list
}

func encoded(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSame merges profiles both ways, and with pprof's own merge.
func TestSame(t *testing.T) {
	list := inputs(5, 300)
	list[1].Location[0].IsFolded = true
	list[1].Location[1].Mapping = nil
	list[2].Location[1].Line = nil
	list[3].Sample[0].NumLabel = map[string][]int64{"bytes": {1, 2}, "more": {3}}
	plain, err := Plain(list)
	if err != nil {
		t.Fatal(err)
	}
	a := arena.Cleanup(t, arena.NewArena())
	for range 2 { // The second merge uses the memory of the first one.
		a.Reset(arena.Keep)
		merged, err := InArena(a, list)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encoded(t, merged), encoded(t, plain)) {
			t.Errorf("got\n%.2000v\nwant\n%.2000v", merged, plain)
		}
	}
	want, err := profile.Merge(list)
	if err != nil {
		t.Fatal(err)
	}
	if len(plain.Sample) != len(want.Sample) || len(plain.Location) != len(want.Location) || total(plain) != total(want) {
		t.Errorf("%d samples, %d locations, %d in all; pprof has %d, %d, %d", len(plain.Sample), len(plain.Location), total(plain),
			len(want.Sample), len(want.Location), total(want))
	}
	if plain.DurationNanos != want.DurationNanos || plain.Period != want.Period {
		t.Errorf("%d ns at a period of %d; pprof has %d and %d", plain.DurationNanos, plain.Period, want.DurationNanos, want.Period)
	}
}

func total(p *profile.Profile) (sum int64) {
	for _, s := range p.Sample {
		sum += s.Value[1]
	}
	return sum
}

// TestOtherTypes merges profiles with samples of different types, which is an error.
func TestOtherTypes(t *testing.T) {
	a := arena.Cleanup(t, arena.NewArena())
	for _, change := range []func(p *profile.Profile){
		func(p *profile.Profile) { p.SampleType = p.SampleType[:1] },
		func(p *profile.Profile) { p.SampleType[1].Unit = "bytes" },
		func(p *profile.Profile) { p.PeriodType = nil },
	} {
		list := inputs(2, 10)
		change(list[1])
		_, plainErr := Plain(list)
		_, err := InArena(a, list)
		if plainErr == nil || err == nil || !strings.Contains(err.Error(), "different types") {
			t.Errorf("%v, %v, want an error", plainErr, err)
		}
	}
}
