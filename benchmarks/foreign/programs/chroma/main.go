// Command chroma highlights source files as HTML, as the server of a code browser does: files of
// Go's own tree in Go, assembly, JavaScript, CSS, shell and Markdown, cut to pages of at most 300
// lines.
//
// The server looks up lexer, style and formatter for each page.
//
// The form after the change keeps one formatter, and a lexer for each extension.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

type page struct{ name, text string }

// pages are the beginnings of files, in a fixed order.
func pages() (all []page) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		panic(err)
	}
	for _, pattern := range []string{"net/http/*.go", "encoding/json/*.go", "runtime/asm_*.s", "runtime/m*.go", "go/*/*.go", "*.bash", "../lib/wasm/*.js",
		"cmd/vendor/github.com/google/pprof/internal/driver/html/*.css", "cmd/vendor/github.com/google/pprof/internal/driver/html/*.js", "../*.md", "cmd/compile/*.md"} {
		names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", pattern))
		if err != nil {
			panic(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				panic(err)
			}
			lines := strings.SplitAfter(string(text), "\n")
			all = append(all, page{filepath.Base(name), strings.Join(lines[:min(len(lines), 300)], "")})
		}
	}
	if len(all) < 100 {
		panic(fmt.Sprintf("only %d files in Go's tree", len(all)))
	}
	return all
}

func before() load.Op {
	all := pages()
	return func(i int) {
		p := all[i*7919%len(all)]
		lexer := lexers.Match(p.name)
		if lexer == nil {
			lexer = lexers.Fallback
		}
		tokens, err := chroma.Coalesce(lexer).Tokenise(nil, p.text)
		if err != nil {
			panic(err)
		}
		formatter := html.New(html.WithLineNumbers(true), html.WithLinkableLineNumbers(true, "L"))
		var out bytes.Buffer
		if err := formatter.Format(&out, styles.Get("github"), tokens); err != nil {
			panic(err)
		}
		if out.Len() < len(p.text) {
			panic("page " + p.name + " is short")
		}
	}
}

// after has one formatter, and looks up a lexer once for each extension.
func after() load.Op {
	all := pages()
	formatter := html.New(html.WithLineNumbers(true), html.WithLinkableLineNumbers(true, "L"))
	style := styles.Get("github")
	known := map[string]chroma.Lexer{}
	return func(i int) {
		p := all[i*7919%len(all)]
		extension := filepath.Ext(p.name)
		lexer := known[extension]
		if lexer == nil {
			if lexer = lexers.Match(p.name); lexer == nil {
				lexer = lexers.Fallback
			}
			lexer = chroma.Coalesce(lexer)
			known[extension] = lexer
		}
		tokens, err := lexer.Tokenise(nil, p.text)
		if err != nil {
			panic(err)
		}
		var out bytes.Buffer
		if err := formatter.Format(&out, style, tokens); err != nil {
			panic(err)
		}
		if out.Len() < len(p.text) {
			panic("page " + p.name + " is short")
		}
	}
}

func main() { load.Main(load.Sample{Ops: 150, Before: before, After: after}) }
