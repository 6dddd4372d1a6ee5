// Command caddy runs Caddy for a site of 150 static files and an API behind a reverse proxy.
//
// It compresses the files of text, and writes access logs. Of ten requests five go to the API,
// whose answers have 2 KiB, three ask for an image, and two for a page.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/caddyserver/caddy/v2"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	pages   = 50 // files of text, of 2 to 40 KiB
	images  = 100
	answers = 2 << 10 // bytes of the API's answer
)

func main() {
	load.Serve(load.Service{Ops: 12_000, Connections: 16, Start: start, Prepare: serveUpstream, Dial: dial})
}

// object is a part of Caddy's configuration.
type object = map[string]any

func start(bool) (load.Server, error) {
	root, err := os.MkdirTemp("", "caddy")
	if err != nil {
		return load.Server{}, err
	}
	if err := writeSite(root); err != nil {
		return load.Server{}, err
	}
	site, err := loopback()
	if err != nil {
		return load.Server{}, err
	}
	admin, err := loopback()
	if err != nil {
		return load.Server{}, err
	}
	upstream, err := loopback()
	if err != nil {
		return load.Server{}, err
	}
	routes := []object{{
		"match":    []object{{"path": []string{"/api/*"}}},
		"handle":   []object{{"handler": "reverse_proxy", "upstreams": []object{{"dial": upstream}}}},
		"terminal": true,
	}, {
		"handle": []object{
			{"handler": "encode", "encodings": object{"gzip": object{}, "zstd": object{}}, "prefer": []string{"zstd", "gzip"}},
			{"handler": "file_server", "root": root},
		},
	}}
	text, err := json.Marshal(object{
		"admin":   object{"listen": admin, "config": object{"persist": false}},
		"logging": object{"logs": object{"default": object{"writer": object{"output": "discard"}, "encoder": object{"format": "json"}}}},
		"apps":    object{"http": object{"servers": object{"site": object{"listen": []string{site}, "logs": object{}, "routes": routes}}}},
	})
	if err != nil {
		return load.Server{}, err
	}
	if err := caddy.Load(text, true); err != nil {
		return load.Server{}, err
	}
	return load.Server{Address: site + " " + upstream, Debug: admin, Stop: func() {
		caddy.Stop()
		os.RemoveAll(root)
	}}, nil
}

// loopback returns an address whose port is free now.
func loopback() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// writeSite writes pages of words, and images, which do not compress.
func writeSite(root string) error {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the a site page of server with link class div span and for menu item product price basket order <p> </p> <li> </li>")
	for i := range pages {
		var page bytes.Buffer
		for page.Len() < 2<<10+r.IntN(38<<10) {
			fmt.Fprintf(&page, "%s %x ", words[r.IntN(len(words))], r.IntN(1<<12))
		}
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("page-%d.html", i)), page.Bytes(), 0o666); err != nil {
			return err
		}
	}
	for i := range images {
		image := make([]byte, 3<<10+r.IntN(50<<10))
		for k := range image {
			image[k] = byte(r.Uint32())
		}
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("image-%d.png", i)), image, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// serveUpstream starts the API in the client's process.
func serveUpstream(address string) error {
	_, upstream, _ := strings.Cut(address, " ")
	l, err := net.Listen("tcp", upstream)
	if err != nil {
		return err
	}
	answer := []byte(`{"items":["` + strings.Repeat("item ", (answers-16)/5) + `"]}`)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.Write(answer)
	}))
	return nil
}

func dial(address string, _ int) (load.Request, error) {
	site, _, _ := strings.Cut(address, " ")
	client := &http.Client{Transport: &http.Transport{}} // a connection of its own
	return func(i int) error {
		r, err := http.NewRequest("GET", "http://"+site+path(i), nil)
		if err != nil {
			return err
		}
		r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
		r.Header.Set("Accept", "text/html,application/json,image/png,*/*;q=0.8")
		r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
		r.Header.Set("Cookie", fmt.Sprintf("session=%016x", i*7919))
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", r.URL, answer.Status)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}, nil
}

func path(i int) string {
	switch i % 10 {
	case 0, 5:
		return fmt.Sprintf("/page-%d.html", i*7919%pages)
	case 2, 4, 8:
		return fmt.Sprintf("/image-%d.png", i*7919%images)
	}
	return fmt.Sprintf("/api/items?page=%d", i)
}
