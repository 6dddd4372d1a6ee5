// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"github.com/freehold-go/freehold/cmd/bench"
)

// plain turns a document into what encoding/json makes of it.
func (n *JSONNode) plain() any {
	switch n.Kind {
	case jsontext.KindString:
		return n.Text
	case jsontext.KindNumber:
		return n.Number
	case jsontext.KindTrue, jsontext.KindFalse:
		return n.Kind == jsontext.KindTrue
	case jsontext.KindBeginArray:
		items := make([]any, len(n.Items))
		for i, item := range n.Items {
			items[i] = item.plain()
		}
		return items
	case jsontext.KindBeginObject:
		members := map[string]any{}
		for _, m := range n.Members {
			members[m.Name] = m.Value.plain()
		}
		return members
	}
	return nil
}

// TestReader holds what each way builds, and builds again in the same memory, against encoding/json.
func TestReader(t *testing.T) {
	texts := []string{string(sampleDocument), `{"a\u0062":["\ud83d\ude00\n",[],{},"",null,true,false,-1.5e3],"ä":{"b":{"c":[[[1]]]}}}`, `7`}
	for name, newWay := range map[string]func(*bench.Run) JSONWay{
		"heap": jsonHeap, "scratch": jsonHeapScratch, "pool": jsonPool, "slab": jsonSlab,
		"arena New": jsonNew, "arena Of": jsonOf(defaultArena, arenaReused), "arena fresh": jsonOf(defaultArena, arenaFresh), "arena no reuse": jsonOf(noReuseArena, arenaReused),
	} {
		way, reader := newWay(new(bench.Run)), jsonReader{}
		for range 3 {
			for _, text := range texts {
				var want any
				if err := json.Unmarshal([]byte(text), &want); err != nil {
					t.Fatal(err)
				}
				root, err := reader.read([]byte(text), &way)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got := root.plain(); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %.60s became %v", name, text, got)
				}
				way.Drop(root)
			}
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	for _, text := range []string{"", "{", `{"a":1,"a":2}`, "[1,]", "1 2", `"\x"`, "nul", "\"\xff\""} {
		way, reader := jsonSlab(nil), jsonReader{}
		if root, err := reader.read([]byte(text), &way); err == nil {
			t.Errorf("%q became %v", text, root.plain())
		} else if !strings.HasPrefix(err.Error(), "bench: read JSON: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestDocuments reads a plain and two compressed files, one name twice.
func TestDocuments(t *testing.T) {
	dir := t.TempDir()
	var zipped, packed bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	zs, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	gz.Write(sampleDocument)
	zs.Write(sampleDocument)
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zs.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"a.json": sampleDocument, "a.json.gz": zipped.Bytes(), "b.json.zst": packed.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inputs, err := documents(&bench.Options{Flags: map[string]string{documentsName: filepath.Join(dir, "*")}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, in := range inputs {
		names = append(names, in.Name)
		if data, err := readDocument(in); err != nil || !bytes.Equal(data, sampleDocument) || in.Bytes != len(data) || !in.Quick {
			t.Errorf("%+v: %d bytes, %v", in, len(data), err)
		}
	}
	if want := []string{"a", "a (2)", "b"}; !slices.Equal(names, want) {
		t.Errorf("names are %q, want %q", names, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.json.zst"), []byte("not packed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if inputs, err := documents(&bench.Options{Flags: map[string]string{documentsName: filepath.Join(dir, "c*")}}); err == nil {
		t.Errorf("what is not packed was read: %v", inputs)
	}
}

// TestDefaultDocuments wants the corpus of the Go distribution, the sample where there is none, and the documents
// that the bars name.
func TestDefaultDocuments(t *testing.T) {
	inputs, err := documents(&bench.Options{})
	if err != nil {
		t.Fatal(err)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(inputs, func(in bench.Input) bool { return in.Name == name })
	}
	if len(inputs) < 7 {
		t.Skipf("this Go distribution has other documents: %v", inputs)
	}
	for _, name := range slices.Concat(structuredDocuments, stringDocuments, quickDocuments) {
		if !has(name) {
			t.Errorf("no document %q among %v", name, inputs)
		}
	}
	t.Setenv("GOROOT", t.TempDir())
	inputs, err = documents(&bench.Options{})
	if err != nil || len(inputs) != 1 || inputs[0].Name != sampleName || !inputs[0].Quick {
		t.Errorf("without a Go distribution: %v, %v", inputs, err)
	}
}
