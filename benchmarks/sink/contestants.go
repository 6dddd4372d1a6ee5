package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// contestant is a program that moves the topic to the store.
type contestant struct {
	name  string
	group string
	// command makes the process. Dir is for its files.
	command func(e *environment, dir string) (*exec.Cmd, error)
}

var contestants = []contestant{
	{"plain Go, gzip 6", "plain", plainGo(6, false)},
	{"plain Go, gzip 6, JSON checked by encoding/json", "plain", plainGo(6, true)},
	{"plain Go, gzip 2", "plain", plainGo(2, false)},
	{"freehold-sink, gzip 6", "freehold", ours("gzip", 6, false)},
	{"freehold-sink, zstd", "freehold", ours("zstd", 0, false)},
	{"freehold-sink, gzip 6, JSON checked, by field and hour", "freehold", ours("gzip", 6, true)},
	{"freehold-sink, zstd, JSON checked, by field and hour", "freehold", ours("zstd", 0, true)},
	{"Connect with FileStreamSink, no compression", connectGroup, connect},
}

// base is what ratios are of.
const base = "plain Go, gzip 6"

func plainGo(level int, check bool) func(*environment, string) (*exec.Cmd, error) {
	return func(e *environment, _ string) (*exec.Cmd, error) {
		o, err := json.Marshal(plain{e.cluster.Addresses(), topic, "plain", e.store, level, check})
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(e.self)
		cmd.Env = append(os.Environ(), asPlain+"="+string(o), "GODEBUG=gctrace=1")
		return cmd, nil
	}
}

func ours(codec string, level int, checked bool) func(*environment, string) (*exec.Cmd, error) {
	return func(e *environment, dir string) (*exec.Cmd, error) {
		more := ""
		if checked {
			more = `
  check_json: true
  partition_by:
    - {field: event_type, name: type}
    - {time: timestamp, unit: ms, layout: hour}
memory: {spill_dir: ` + dir + `} # The open objects of all groups are more than the default limit.`
		}
		file := filepath.Join(dir, "sink.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, `kafka:
  brokers: [%s]
  topics: [%s]
  group: freehold
store:
  url: gs://%s?endpoint=http://%s&anonymous=true
objects:
  format: {name: lines}
  compression: {codec: %s, level: %d}%s
rotate: {records: %d}
http: {listen: ""}
`, strings.Join(e.cluster.Addresses(), ", "), topic, storeBucket, e.store, codec, level, more, perObject), 0o666); err != nil {
			return nil, err
		}
		cmd := exec.Command(e.sink, "run", "-config", file)
		cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
		return cmd, nil
	}
}
