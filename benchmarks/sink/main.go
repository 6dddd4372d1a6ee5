// Command sink compares freehold-sink with a sink in plain Go, and with Kafka Connect and its file sink.
//
// All read the same topic of the same broker, and the first two write to the same store. Each runs in a process of its own, and they take turns.
//
//	go run . -n 200000     # a quick look
//	go run . -count 3      # a million messages each; only these figures count
//	go run . -large -n 200000
//	go run . -soak -n 10000000
//
// It needs Linux, and Java 17 with Maven or an unpacked Kafka, see package kafkatest.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/freehold-go/freehold/sink/source/kafka/kafkatest"
)

func main() {
	err := errors.ErrUnsupported
	switch {
	case os.Getenv(asStore) != "":
		err = serveStore(os.Getenv(asStore))
	case os.Getenv(asPlain) != "":
		var o plain
		if err = json.Unmarshal([]byte(os.Getenv(asPlain)), &o); err == nil {
			err = o.run()
		}
	default:
		err = compare(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sink:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context) (err error) {
	n := flag.Int("n", 1_000_000, "messages of 1.5 KB; a multiple of 200000 ends with a full object in each partition")
	count := flag.Int("count", 1, "rounds")
	which := flag.String("run", "", "regular expression: only these contestants")
	soak := flag.Bool("soak", false, "instead, does memory grow? The median RSS of each million, also with a store that stands still and with many groups; with -n 10000000 it takes half an hour and 10 GB")
	large := flag.Bool("large", false, "instead, what does a value of 50 MB cost in memory? The peak RSS with one in the middle of each partition, and without; -n 200000 is enough")
	dir := flag.String("dir", "", "directory of the broker and the objects; the topic in it is used again if it has -n messages (default: a temporary one)")
	flag.Parse()
	chosen, err := regexp.Compile(*which)
	if err != nil {
		return err
	}
	if *n%(partitions*perObject) != 0 {
		return fmt.Errorf("-n is %d; it must be a multiple of %d, so that all messages are in full objects", *n, partitions*perObject)
	}
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "sink-benchmark"); err != nil {
			return err
		}
		defer os.RemoveAll(*dir)
	}
	e := &environment{n: *n, objects: filepath.Join(*dir, "objects", storeBucket)}
	if e.self, err = os.Executable(); err != nil {
		return err
	}
	e.sink = filepath.Join(*dir, "freehold-sink")
	build := exec.CommandContext(ctx, "go", "build", "-o", e.sink, "./sink/cmd/freehold-sink")
	if build.Dir, err = root(ctx); err != nil {
		return err
	}
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building freehold-sink: %w\n%s", err, out)
	}
	if e.cluster, err = kafkatest.New(ctx, kafkatest.Options{Dir: filepath.Join(*dir, "kafka")}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.cluster.Close()) }()
	if err := e.connect(); err != nil {
		return err
	}
	if err := e.fill(ctx, ordersTopic, 0); err != nil {
		return err
	}
	if *large {
		if err := e.fill(ctx, largeTopic, largeValue); err != nil {
			return err
		}
	}
	stop, err := e.startStore(filepath.Dir(e.objects))
	if err != nil {
		return err
	}
	defer stop()
	list, print := contestants, report
	switch {
	case *soak:
		list, print = soaks, reportSoak
	case *large:
		list, print = larges, reportLarge
	}
	outcomes, err := e.rounds(ctx, *count, list, chosen)
	if err != nil {
		return err
	}
	print(os.Stdout, e.n, outcomes)
	return nil
}

// rounds runs the chosen contestants in turns.
func (e *environment) rounds(ctx context.Context, count int, list []contestant, chosen *regexp.Regexp) ([]outcome, error) {
	var outcomes []outcome
	for range count {
		for _, c := range list {
			if !chosen.MatchString(c.name) {
				continue
			}
			o, err := e.run(ctx, c)
			if err != nil {
				return nil, err
			}
			line, err := json.Marshal(o)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(os.Stderr, "%s\n", line)
			outcomes = append(outcomes, o)
		}
	}
	return outcomes, nil
}
