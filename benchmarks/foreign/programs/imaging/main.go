// Command imaging makes the thumbnails of a gallery: a photo of 1200 by 900 comes as a JPEG, and is
// stored in three sizes, the smallest cut to a square and sharpened.
//
// The thumbnails of the latest 200 photos stay in memory.
package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/disintegration/imaging"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const kept = 200

// gallery has the encoded thumbnails.
type gallery struct {
	mu     sync.Mutex
	photos [kept][3][]byte
	next   int
}

func thumbnails(photo io.Reader) (all [3][]byte, err error) {
	original, err := imaging.Decode(photo, imaging.AutoOrientation(true))
	if err != nil {
		return all, err
	}
	sizes := [3]image.Image{
		imaging.Fit(original, 800, 600, imaging.Lanczos),
		imaging.Fit(original, 320, 240, imaging.Lanczos),
		imaging.Sharpen(imaging.Fill(original, 96, 96, imaging.Center, imaging.Lanczos), 0.6),
	}
	for i, size := range sizes {
		var out bytes.Buffer
		if err := imaging.Encode(&out, size, imaging.JPEG, imaging.JPEGQuality(85)); err != nil {
			return all, err
		}
		all[i] = out.Bytes()
	}
	return all, nil
}

func (g *gallery) add(w http.ResponseWriter, r *http.Request) {
	all, err := thumbnails(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	g.photos[g.next] = all
	g.next = (g.next + 1) % kept
	g.mu.Unlock()
	w.Header().Set("Content-Type", "image/jpeg")
	w.Write(all[2])
}

func start(bool) (load.Server, error) {
	g := new(gallery)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /photos", g.add)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, mux)
	return load.Server{Address: "http://" + l.Addr().String()}, nil
}

// photo is the n-th one: soft areas with some noise, as a camera makes.
func photo(n int) ([]byte, error) {
	m := image.NewRGBA(image.Rect(0, 0, 1200, 900))
	noise := uint32(n + 1)
	for y := range 900 {
		for x := range 1200 {
			noise = noise*1664525 + 1013904223
			d := noise >> 28
			m.SetRGBA(x, y, color.RGBA{uint8(x*255/1200) ^ uint8(d), uint8(y*255/900) ^ uint8(d), uint8((x*x/900+y+n*40)>>3) ^ uint8(d), 255})
		}
	}
	var out bytes.Buffer
	err := jpeg.Encode(&out, m, &jpeg.Options{Quality: 90})
	return out.Bytes(), err
}

func dial(address string, connection int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	body, err := photo(connection)
	if err != nil {
		return nil, err
	}
	return func(int) error {
		answer, err := client.Post(address+"/photos", "image/jpeg", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		small, _, err := image.Decode(answer.Body)
		if err == nil && small.Bounds().Dx() != 96 {
			err = fmt.Errorf("%s: a thumbnail of %v", answer.Status, small.Bounds())
		}
		return err
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 9, Connections: 3, Start: start, Dial: dial})
}
