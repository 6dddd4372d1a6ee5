// Command json-patch keeps the documents of a planning tool that several people edit: an editor sends
// the operations that its user made since the last save as a JSON patch, and gets the new version.
//
// A document has 4 to 8 KB, a save has 5 to 40 operations. The service applies them one after the
// other, to say which of them failed.
//
// The form after the change applies a save's operations at once.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const documents = 2000

// planner has the present version of each document.
type planner struct {
	mu        sync.Mutex
	documents [documents][]byte
	apply     func(document []byte, save jsonpatch.Patch) ([]byte, error)
}

// applyEach applies the operations in turn.
func applyEach(document []byte, save jsonpatch.Patch) ([]byte, error) {
	for i, operation := range save {
		next, err := jsonpatch.Patch{operation}.Apply(document)
		if err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		document = next
	}
	return document, nil
}

func applyAll(document []byte, save jsonpatch.Patch) ([]byte, error) {
	return save.Apply(document)
}

func (p *planner) save(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("document"))
	if err != nil || n < 0 || n >= documents {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	save, err := jsonpatch.DecodePatch(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	next, err := p.apply(p.documents[n], save)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	p.documents[n] = next
	w.Write(next)
}

func start(after bool) (load.Server, error) {
	p := &planner{apply: applyEach}
	if after {
		p.apply = applyAll
	}
	for i := range p.documents {
		p.documents[i] = []byte(document(i))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PATCH /documents/{document}", p.save)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, mux)
	return load.Server{Address: "http://" + l.Addr().String()}, nil
}

// document is a plan with its tasks by number.
func document(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"title":"Plan %d","owner":"team-%d","settings":{"locale":"en","zoom":100,"theme":"light"},"log":[],"tasks":{`, n, n%40)
	for k := range tasks(n) {
		if k > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"t%d":{"title":"Task %d of plan %d","state":"open","assignee":"person-%d","from":"2026-10-%02d","days":%d,"tags":["a%d","b"],"position":{"x":%d,"y":%d}}`, k, k, n, (n+k)%300, 1+k%28, 1+k%9, k%5, k*40, k*25)
	}
	b.WriteString("}}")
	return b.String()
}

func tasks(n int) int { return 25 + n%25 }

// patch are the operations of the i-th save, which fit each version of the document.
func patch(i, n int) string {
	var b strings.Builder
	b.WriteByte('[')
	for k := range 5 + i%36 {
		if k > 0 {
			b.WriteByte(',')
		}
		task := (i + k*7) % tasks(n)
		switch k % 4 {
		case 0:
			fmt.Fprintf(&b, `{"op":"replace","path":"/tasks/t%d/position","value":{"x":%d,"y":%d}}`, task, i%900, k*10)
		case 1:
			fmt.Fprintf(&b, `{"op":"replace","path":"/tasks/t%d/state","value":"%s"}`, task, []string{"open", "done", "blocked"}[i%3])
		case 2:
			fmt.Fprintf(&b, `{"op":"add","path":"/tasks/t%d/days","value":%d}`, task, 1+i%9)
		default:
			fmt.Fprintf(&b, `{"op":"replace","path":"/settings/zoom","value":%d}`, 50+i%100)
		}
	}
	b.WriteByte(']')
	return b.String()
}

func dial(address string, _ int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	return func(i int) error {
		n := i * 7919 % documents
		r, err := http.NewRequest("PATCH", fmt.Sprintf("%s/documents/%d", address, n), strings.NewReader(patch(i, n)))
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && (answer.StatusCode != http.StatusOK || !bytes.Contains(text, fmt.Appendf(nil, "Plan %d", n))) {
			err = fmt.Errorf("%s: %s", answer.Status, text)
		}
		return err
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 400, Connections: 8, Start: start, HasAfter: true, Dial: dial})
}
