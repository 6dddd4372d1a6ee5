// Command s2 tells which zones the vehicles of a fleet are in: zones are polygons in an index of
// golang/geo, and a gateway posts the positions of 200 vehicles at a time, one a line.
//
// A city has 3000 zones of 40 to 200 corners. The service counts the vehicles in each zone.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	zones    = 3000
	vehicles = 200 // in a request
)

// fleet has the zones with the number of positions in each.
type fleet struct {
	index *s2.ShapeIndex
	ids   map[s2.Shape]int
	seen  [zones]atomic.Int64
}

func newFleet() *fleet {
	f := &fleet{index: s2.NewShapeIndex(), ids: map[s2.Shape]int{}}
	for n := range zones {
		shape := zone(n)
		f.index.Add(shape)
		f.ids[shape] = n
	}
	f.index.Build()
	return f
}

// place is a point of the city: x and y are from 0 to 1.
func place(x, y float64) s2.LatLng { return s2.LatLngFromDegrees(48+x/2, 11+y/2) }

// zone is an uneven polygon around one of 60 by 50 places.
func zone(n int) *s2.Polygon {
	center := s2.PointFromLatLng(place((float64(n%60)+0.5)/60, (float64(n/60)+0.5)/50))
	corners := 40 + n%161
	loop := s2.RegularLoop(center, s1.Angle(0.00016), corners)
	points := loop.Vertices()
	for i := range points {
		pull := 0.3 * math.Abs(math.Sin(float64(i*n)))
		points[i] = s2.Interpolate(pull, points[i], center)
	}
	return s2.PolygonFromLoops([]*s2.Loop{s2.LoopFromPoints(points)})
}

func (f *fleet) positions(w http.ResponseWriter, r *http.Request) {
	query := s2.NewContainsPointQuery(f.index, s2.VertexModelSemiOpen)
	inside := 0
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		_, at, _ := bytes.Cut(lines.Bytes(), []byte{';'})
		first, second, _ := bytes.Cut(at, []byte{';'})
		lat, err1 := strconv.ParseFloat(string(first), 64)
		lng, err2 := strconv.ParseFloat(string(second), 64)
		if err1 != nil || err2 != nil {
			http.Error(w, lines.Text(), http.StatusBadRequest)
			return
		}
		point := s2.PointFromLatLng(s2.LatLngFromDegrees(lat, lng))
		for _, shape := range query.ContainingShapes(point) {
			f.seen[f.ids[shape]].Add(1)
			inside++
		}
	}
	fmt.Fprint(w, inside)
}

func start(bool) (load.Server, error) {
	f := newFleet()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /positions", f.positions)
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
		var body strings.Builder
		for k := range vehicles {
			n := i*vehicles + k
			at := place(float64(n*7919%100_003)/100_003, float64(n*104_729%99_991)/99_991)
			fmt.Fprintf(&body, "vehicle-%d;%.6f;%.6f\n", n%4000, at.Lat.Degrees(), at.Lng.Degrees())
		}
		answer, err := client.Post(address+"/positions", "text/plain", strings.NewReader(body.String()))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if inside, e := strconv.Atoi(string(text)); err == nil && (e != nil || inside < vehicles/10) {
			err = fmt.Errorf("%s: %s", answer.Status, text)
		}
		return err
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 1_000, Connections: 4, Start: start, Dial: dial})
}
