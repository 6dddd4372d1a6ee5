// Command bleve searches the articles of a help desk with blevesearch/bleve, in an index on disk.
//
// Of 100 operations 99 are searches, and one adds 20 articles.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/blevesearch/bleve/v2"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

type article struct {
	Title string   `json:"title"`
	Body  string   `json:"body"`
	Tags  []string `json:"tags"`
	Views int      `json:"views"`
}

// articles is how many are there at the start.
const articles = 6_000

var folder string

func main() {
	load.Main(load.Sample{Ops: 2_000, Before: before, Close: func() { os.RemoveAll(folder) }})
}

func before() load.Op {
	var err error
	folder, err = os.MkdirTemp("", "bleve")
	check(err)
	index, err := bleve.New(filepath.Join(folder, "index"), bleve.NewIndexMapping())
	check(err)
	next := 0
	for next < articles {
		next = add(index, next, 500)
	}
	return func(i int) {
		if i%100 == 99 {
			next = add(index, next, 20)
			return
		}
		query := bleve.NewSearchRequestOptions(bleve.NewMatchQuery(word(i*7)+" "+word(i*13+5)), 10, 0, false)
		query.Fields = []string{"title"}
		found, err := index.Search(query)
		check(err)
		if found.Total == 0 {
			panic("nothing was found")
		}
	}
}

func add(index bleve.Index, first, n int) (next int) {
	batch := index.NewBatch()
	for i := first; i < first+n; i++ {
		random := rand.New(rand.NewPCG(uint64(i), 14))
		var body []string
		for range 120 {
			r := random.Float64()
			body = append(body, word(int(r*r*r*4000))) // few words are frequent
		}
		check(batch.Index(fmt.Sprintf("article-%d", i), article{
			Title: strings.Join(body[:6], " "), Body: strings.Join(body, " "), Tags: []string{word(i % 40), "help"}, Views: i % 1000,
		}))
	}
	check(index.Batch(batch))
	return first + n
}

// word is the n-th of 4000 words that look like words.
func word(n int) string {
	syllables := []string{"ba", "ke", "lo", "mi", "nu", "pra", "sti", "ter", "von", "zel", "qui", "dra", "fen", "gol", "hut", "jam"}
	n %= 4000
	return syllables[n%16] + syllables[n/16%16] + syllables[n/256%16] + "s"
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
