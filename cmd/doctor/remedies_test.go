// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"io"
	"log/slog"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/gctune"
	"github.com/freehold-go/freehold/offheap"
)

// The functions below are quoted on the pages of docs/findings; remedies_run_test.go runs each before beside its after.

type node struct {
	left, right *node
	value       int
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.value + n.left.sum() + n.right.sum()
}

func namesBefore(ids []int) []string {
	var names []string
	for _, id := range ids {
		names = append(names, "item-"+strconv.Itoa(id))
	}
	return names
}

func namesAfter(buf []byte, ids []int) []byte {
	for _, id := range ids {
		buf = append(strconv.AppendInt(append(buf, "item-"...), int64(id), 10), '\n')
	}
	return buf
}

func treeBefore(values []int) int {
	var root *node
	for _, v := range values {
		at := &root
		for *at != nil {
			if v < (*at).value {
				at = &(*at).left
			} else {
				at = &(*at).right
			}
		}
		*at = &node{value: v}
	}
	return root.sum()
}

func treeAfter(values []int) int {
	a := arena.NewArena()
	defer a.Free()
	var root *node
	for _, v := range values {
		at := &root
		for *at != nil {
			if v < (*at).value {
				at = &(*at).left
			} else {
				at = &(*at).right
			}
		}
		n := arena.New[node](a)
		n.value = v
		*at = n
	}
	return root.sum()
}

type request struct {
	keys   [32]string
	values [32]*int
	used   int
}

func (r *request) serve(words []string) int {
	for _, w := range words {
		r.keys[r.used] = w
		r.used++
	}
	return r.used
}

// last stands for the places that a request is handed on to, so that it is allocated.
var last *request

func requestBefore(words []string) int {
	r := &request{}
	last = r
	return r.serve(words)
}

var requests = sync.Pool{New: func() any { return new(request) }}

func requestAfter(words []string) int {
	r := requests.Get().(*request)
	defer func() {
		clear(r.keys[:r.used]) // what it led to must not stay alive
		clear(r.values[:r.used])
		r.used = 0
		requests.Put(r)
	}()
	return r.serve(words)
}

// body is where a response goes.
var body []byte

func bufferBefore(w io.Writer, chunks [][]byte) error {
	buf := make([]byte, 0, 64<<10)
	body = buf
	for _, c := range chunks {
		buf = append(buf, c...)
	}
	_, err := w.Write(buf)
	return err
}

var buffers = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, 64<<10)) }}

func bufferAfter(w io.Writer, chunks [][]byte) error {
	buf := buffers.Get().(*bytes.Buffer) // a pointer: a slice would be boxed at each Put
	defer func() {
		if buf.Cap() <= 1<<20 { // or the pool keeps the largest ever seen
			buf.Reset()
			buffers.Put(buf)
		}
	}()
	for _, c := range chunks {
		buf.Write(c)
	}
	_, err := w.Write(buf.Bytes())
	return err
}

type user struct {
	name string
	hits uint64
}

func cacheBefore(names []string) map[string]*user {
	users := make(map[string]*user, len(names))
	for _, name := range names {
		users[name] = &user{name: name}
	}
	return users
}

type record struct {
	name [24]byte
	hits uint64
}

type userTable struct {
	index   map[uint64]uint32 // hash of the name: no pointers, so the collector skips the map
	records []record          // off the heap
}

func cacheAfter(names []string) userTable {
	t := userTable{index: make(map[uint64]uint32, len(names)), records: offheap.MakeSlice[record](len(names), len(names))}
	for i, name := range names {
		copy(t.records[i].name[:], name)
		t.index[hash(name)] = uint32(i)
	}
	return t
}

func findUser(t userTable, name string) *record {
	i, ok := t.index[hash(name)]
	if !ok || string(bytes.TrimRight(t.records[i].name[:], "\x00")) != name { // another name may have the hash
		return nil
	}
	return &t.records[i]
}

func hash(name string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, name)
	return h.Sum64()
}

func ballastAfter(data []byte) []byte {
	block := offheap.Alloc(len(data))
	copy(block, data)
	debug.SetGCPercent(220) // as much memory in all as before: the report says how much that is
	return block
}

func amountBefore(doc []byte) (float64, error) {
	var fields map[string]any
	if err := json.Unmarshal(doc, &fields); err != nil {
		return 0, err
	}
	amount, _ := fields["amount"].(float64)
	return amount, nil
}

func amountAfter(doc []byte) (float64, error) {
	var fields struct {
		Amount float64 `json:"amount"`
	}
	err := json.Unmarshal(doc, &fields)
	return fields.Amount, err
}

func amountTokens(d *jsontext.Decoder, doc *bytes.Reader) (amount float64, err error) {
	d.Reset(doc) // its buffer stays
	if _, err := d.ReadToken(); err != nil {
		return 0, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			return 0, err
		}
		if string(name) != `"amount"` {
			if err := d.SkipValue(); err != nil {
				return 0, err
			}
			continue
		}
		value, err := d.ReadToken()
		if err != nil {
			return 0, err
		}
		if amount, err = value.Float(); err != nil {
			return 0, err
		}
	}
	_, err = d.ReadToken()
	return amount, err
}

func lineBefore(fields []int) string {
	line := ""
	for _, f := range fields {
		line += strconv.Itoa(f) + ";"
	}
	return line
}

func lineAfter(buf []byte, fields []int) (line string, kept []byte) {
	buf = buf[:0]
	for _, f := range fields {
		buf = append(strconv.AppendInt(buf, int64(f), 10), ';')
	}
	return string(buf), buf
}

func logBefore(log *slog.Logger, id int) {
	log.Debug("request " + strconv.Itoa(id) + " done")
}

func logAfter(log *slog.Logger, id int) {
	log.Debug("request done", slog.Int("id", id)) // no text is made below the log's level
}

func evenBefore(values []int) []int {
	var even []int
	for _, v := range values {
		if v%2 == 0 {
			even = append(even, v)
		}
	}
	return even
}

func evenAfter(values []int) []int {
	even := make([]int, 0, len(values)) // at most as many
	for _, v := range values {
		if v%2 == 0 {
			even = append(even, v)
		}
	}
	return even
}

func evenKept(even, values []int) []int {
	even = even[:0] // the last call's array, whose result must be out of use
	for _, v := range values {
		if v%2 == 0 {
			even = append(even, v)
		}
	}
	return even
}

func countBefore(words []string) map[string]int {
	counts := map[string]int{}
	for _, w := range words {
		counts[w]++
	}
	return counts
}

func countAfter(words []string) map[string]int {
	counts := make(map[string]int, len(words))
	for _, w := range words {
		counts[w]++
	}
	return counts
}

func countKept(counts map[string]int, words []string) {
	clear(counts) // keeps its tables
	for _, w := range words {
		counts[w]++
	}
}

func serveBefore(values []int, handle func(int) int) (sum int) {
	results := make(chan int)
	for _, v := range values {
		go func() { results <- handle(v) }()
	}
	for range values {
		sum += <-results
	}
	return sum
}

func serveAfter(values []int, handle func(int) int) (sum int) {
	work, results := make(chan int), make(chan int)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for v := range work {
				results <- handle(v)
			}
		}()
	}
	go func() {
		defer close(work)
		for _, v := range values {
			work <- v
		}
	}()
	for range values {
		sum += <-results
	}
	return sum
}

type handle struct{ table *[64]int }

func (h *handle) Close() { h.table[0]-- }

func useBefore(table *[64]int) {
	h := &handle{table}
	table[0]++
	runtime.SetFinalizer(h, (*handle).Close)
}

func useAfter(table *[64]int) {
	h := &handle{table}
	table[0]++
	defer h.Close()
}

func tuneAfter(ctx context.Context, log *slog.Logger) error {
	_, err := gctune.Start(ctx, gctune.Options{Policy: gctune.Throughput, Logger: log})
	return err
}

func limitAfter(live int64) {
	debug.SetMemoryLimit(2 * live) // room for as much garbage as there is live data
}

func procsAfter() {
	runtime.SetDefaultGOMAXPROCS() // Go 1.25: the processors, or the container's quota; follows changes
}

func profileAfter() {
	runtime.MemProfileRate = 4 << 20 // before the first allocation; 0 switches the profile off
}

func contentionBefore() {
	runtime.SetMutexProfileFraction(100) // one in 100 waits; then /debug/pprof/mutex
	runtime.SetBlockProfileRate(10_000)  // waits of 10 µs and more; then /debug/pprof/block
}

func orderBefore() any {
	type position struct {
		open     bool
		quantity int64
		hedged   bool
		price    float64
		owner    *string
	}
	return position{}
}

func orderAfter() any {
	type position struct {
		owner    *string
		quantity int64
		price    float64
		open     bool
		hedged   bool
	}
	return position{}
}

func matchBefore(path string) bool {
	return regexp.MustCompile(`^/users/[^/]+$`).MatchString(path)
}

var userPath = regexp.MustCompile(`^/users/[^/]+$`)

func matchAfter(path string) bool {
	return userPath.MatchString(path)
}

var patterns sync.Map // string to *regexp.Regexp; the patterns are the program's own, so there are few

func matchKept(pattern, path string) bool {
	re, ok := patterns.Load(pattern)
	if !ok {
		re, _ = patterns.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return re.(*regexp.Regexp).MatchString(path)
}

func distinctBefore(ids []int) int {
	seen := make(map[any]bool, len(ids)) // each key is an int somewhere on the heap
	for _, id := range ids {
		seen[id] = true
	}
	return len(seen)
}

func distinctAfter[K comparable](ids []K) int {
	seen := make(map[K]bool, len(ids))
	for _, id := range ids {
		seen[id] = true
	}
	return len(seen)
}

func putBefore(pool *sync.Pool, buf []byte) {
	pool.Put(buf) // allocates 24 bytes for the slice itself
}

func putAfter(pool *sync.Pool, buf *[]byte) {
	pool.Put(buf)
}

// spans is the number of spans of a message.
func spans(m *trace.TracesData) (n int) {
	for _, r := range m.ResourceSpans {
		for _, s := range r.ScopeSpans {
			n += len(s.Spans)
		}
	}
	return n
}

func spansBefore(data []byte) (int, error) {
	m := new(trace.TracesData)
	if err := proto.Unmarshal(data, m); err != nil {
		return 0, err
	}
	return spans(m), nil
}

func spansAfter(a *arena.Arena, data []byte) (int, error) {
	defer a.Reset(arena.Keep) // Nothing of the message is used afterwards.
	m, err := arenaproto.New[trace.TracesData](a, data)
	if err != nil {
		return 0, err
	}
	return spans(m), nil
}
