// Command roaring answers how many users a campaign reaches: it keeps the segments of a marketing
// platform as bitmaps of user numbers, and an audience is the union of some segments without the
// users of others.
//
// The form after the change unites all segments of a request at once.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	users    = 3_000_000
	segments = 120
)

// platform has the segments, and the way to unite some of them.
type platform struct {
	segments []*roaring.Bitmap
	union    func([]*roaring.Bitmap) *roaring.Bitmap
}

func newPlatform() *platform {
	r := rand.New(rand.NewPCG(1, 2))
	p := &platform{union: union}
	for i := range segments {
		b := roaring.New()
		for range 20_000 + i%7*15_000 {
			b.Add(r.Uint32N(users))
		}
		b.RunOptimize()
		p.segments = append(p.segments, b)
	}
	return p
}

func union(list []*roaring.Bitmap) *roaring.Bitmap {
	all := roaring.New()
	for _, segment := range list {
		all = roaring.Or(all, segment)
	}
	return all
}

// audience is the answer to a request.
type audience struct {
	Users  uint64   `json:"users"`
	Sample []uint32 `json:"sample"`
}

func (p *platform) reach(w http.ResponseWriter, r *http.Request) {
	with, err := p.named(r.FormValue("any"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	without, err := p.named(r.FormValue("not"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	all := p.union(with)
	for _, segment := range without {
		all.AndNot(segment)
	}
	answer := audience{Users: all.GetCardinality()}
	for it := all.Iterator(); it.HasNext() && len(answer.Sample) < 20; {
		answer.Sample = append(answer.Sample, it.Next())
	}
	json.NewEncoder(w).Encode(answer)
}

// named returns the segments of a list of numbers.
func (p *platform) named(list string) (all []*roaring.Bitmap, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n >= len(p.segments) {
			return nil, fmt.Errorf("no segment %q", text)
		}
		all = append(all, p.segments[n])
	}
	return all, nil
}

func start(after bool) (load.Server, error) {
	p := newPlatform()
	if after {
		p.union = func(list []*roaring.Bitmap) *roaring.Bitmap { return roaring.FastOr(list...) }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /audience", p.reach)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, mux)
	return load.Server{Address: "http://" + l.Addr().String()}, nil
}

func dial(address string, _ int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	return func(i int) error {
		var with []string
		for k := range 12 + i%24 {
			with = append(with, strconv.Itoa((i*31+k*7)%segments))
		}
		answer, err := client.Get(fmt.Sprintf("%s/audience?any=%s&not=%d,%d", address, strings.Join(with, ","), (i*13+3)%segments, (i*17+5)%segments))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		var a audience
		if err == nil {
			err = json.Unmarshal(text, &a)
		}
		if err != nil || a.Users < 100_000 || len(a.Sample) != 20 {
			return fmt.Errorf("%s: %s, %w", answer.Status, text, err)
		}
		return nil
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 160, Connections: 4, Start: start, HasAfter: true, Dial: dial})
}
