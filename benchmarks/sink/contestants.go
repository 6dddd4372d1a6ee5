package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// contestant is a program that moves the topic to the store.
type contestant struct {
	name  string
	group string
	// command makes the process. Dir is for its files.
	command func(e *environment, dir string) (*exec.Cmd, error)
	large   int           // bytes of one value in each partition, or 0
	stall   time.Duration // how long the store stands still once a third of the messages is committed
}

var contestants = []contestant{
	{name: "plain Go, gzip 6", group: "plain", command: plainGo(6, false)},
	{name: "plain Go, gzip 6, JSON checked by encoding/json", group: "plain", command: plainGo(6, true)},
	{name: "plain Go, gzip 2", group: "plain", command: plainGo(2, false)},
	{name: "freehold-sink, gzip 6", group: "freehold", command: ours("gzip", 6, whole)},
	{name: "freehold-sink, zstd", group: "freehold", command: ours("zstd", 0, whole)},
	{name: "freehold-sink, zstd, responses on the Go heap", group: "freehold", command: clientResponses(ours("zstd", 0, whole))},
	{name: "freehold-sink, gzip 6, JSON checked, by field and hour", group: "freehold", command: ours("gzip", 6, checked)},
	{name: "freehold-sink, zstd, JSON checked, by field and hour", group: "freehold", command: ours("zstd", 0, checked)},
	{name: "Connect with FileStreamSink, no compression", group: connectGroup, command: connect},
}

// soaks run with -soak: does memory stay as it is?
var soaks = []contestant{
	{name: "zstd", group: "freehold", command: ours("zstd", 0, whole)},
	{name: "store stalled for a minute", group: "freehold", command: ours("zstd", 0, whole), stall: time.Minute},
	{name: "some 1,000 open groups", group: "freehold", command: ours("zstd", 0, grouped)},
}

// larges run with -large: what does a large value cost in memory?
var larges = []contestant{
	{name: "zstd, orders alone", group: "freehold", command: ours("zstd", 0, aged)},
	{name: "zstd, a large value in each partition", group: "freehold", command: ours("zstd", 0, aged), large: largeValue},
	{name: "zstd, JSON checked, by field and hour, orders alone", group: "freehold", command: ours("zstd", 0, strict)},
	{name: "zstd, JSON checked, by field and hour, a large value in each partition", group: "freehold", command: ours("zstd", 0, strict), large: largeValue},
}

// largeValue is the size of a large value.
const largeValue = 50_000_000

// What ours does with the values. The configuration goes on from the keys of objects.
const (
	whole = `
rotate: {records: 25000}`
	// The open objects of all groups are more than the default limit, so they spill.
	checked = `
  check_json: true
  partition_by:
    - {field: event_type, name: type}
    - {time: timestamp, unit: ms, layout: hour}
rotate: {records: 25000}
memory: {spill_dir: .}`
	// Large values fill objects to their limit of bytes, so the clock ends the last ones.
	aged = `
rotate: {records: 25000, age: 10s}`
	// A large value has no time.
	strict = `
  check_json: true
  partition_by:
    - {field: event_type, name: type}
    - {time: timestamp, unit: ms, layout: hour, missing: none}
rotate: {records: 25000, age: 10s}
memory: {spill_dir: .}`
	// 50 groups an hour, of two to three hours, in each of 8 partitions. Memory ends epochs before their boundaries, so the clock ends the last one.
	grouped = `
  partition_by:
    - {field: event_type, name: type}
    - {field: shipping_address.City, name: city}
    - {time: timestamp, unit: ms, layout: hour}
rotate: {records: 100000, age: 30s}`
)

// base is what ratios are of.
const base = "plain Go, gzip 6"

func plainGo(level int, check bool) func(*environment, string) (*exec.Cmd, error) {
	return func(e *environment, _ string) (*exec.Cmd, error) {
		o, err := json.Marshal(plain{e.cluster.Addresses(), e.topic, "plain", e.store, level, check})
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(e.self)
		cmd.Env = append(os.Environ(), asPlain+"="+string(o), "GODEBUG=gctrace=1")
		return cmd, nil
	}
}

func ours(codec string, level int, values string) func(*environment, string) (*exec.Cmd, error) {
	return func(e *environment, dir string) (*exec.Cmd, error) {
		file := filepath.Join(dir, "sink.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, `kafka:
  brokers: [%s]
  topics: [%s]
  group: freehold
store:
  url: %s
http: {listen: ""}
objects:
  format: {name: lines}
  compression: {codec: %s, level: %d}%s
`, strings.Join(e.cluster.Addresses(), ", "), e.topic, e.url(), codec, level, values), 0o666); err != nil {
			return nil, err
		}
		cmd := exec.Command(e.sink, "run", "-config", file)
		cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
		cmd.Dir = dir
		return cmd, nil
	}
}

// url is that of the store. Objects with a large value go to a directory, because the store takes only objects that fit in one request.
func (e *environment) url() string {
	if e.topic == largeTopic {
		return "dir://" + e.objects
	}
	return fmt.Sprintf("gs://%s?endpoint=http://%s&anonymous=true", storeBucket, e.store)
}

// clientResponses has franz-go read responses to the Go heap, as it does by itself.
func clientResponses(command func(*environment, string) (*exec.Cmd, error)) func(*environment, string) (*exec.Cmd, error) {
	return func(e *environment, dir string) (*exec.Cmd, error) {
		cmd, err := command(e, dir)
		if err == nil {
			cmd.Env = append(cmd.Env, "FREEHOLD_SINK_KAFKA_RESPONSES=client")
		}
		return cmd, err
	}
}
