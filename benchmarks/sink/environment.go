package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/source/kafka/kafkatest"
)

// Variables that make a process of this program the store, or the sink in plain Go.
const (
	asStore = "FREEHOLD_BENCHMARK_STORE" // its directory
	asPlain = "FREEHOLD_BENCHMARK_PLAIN" // its options
)

const (
	ordersTopic = "orders"
	largeTopic  = "large" // orders, and a large value in each partition
	partitions  = 8
	storeBucket = "bucket"
)

// perObject is the number of records in an object of all contestants.
const perObject = 25_000

// environment is what all contestants share.
type environment struct {
	n        int
	topic    string // of the contestant that runs
	self     string // this program
	sink     string // freehold-sink
	cluster  *kafkatest.Cluster
	admin    *kadm.Client
	store    string // address
	storePID int
	objects  string // the store's directory
}

// clear deletes the group and what is in the store.
func (e *environment) clear(ctx context.Context, group string) error {
	for try := 0; ; try++ { // A member that was killed stays for its session of 45 s, and a new cluster has no coordinator for a moment.
		r, err := e.admin.DeleteGroup(ctx, group)
		if err = errors.Join(err, r.Err); err == nil || errors.Is(err, kerr.GroupIDNotFound) {
			break
		}
		if try == 300 {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
	if err := os.RemoveAll(e.objects); err != nil {
		return err
	}
	return os.MkdirAll(e.objects, 0o777)
}

// committed is the sum of the group's offsets.
func (e *environment) committed(ctx context.Context, group string) (sum int64) {
	offsets, err := e.admin.FetchOffsets(ctx, group)
	if err != nil {
		return 0 // There is no such group yet.
	}
	for _, p := range offsets[e.topic] {
		sum += max(p.At, 0)
	}
	return sum
}

// root is the folder of the workspace.
func root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/freehold-go/freehold").Output()
	if err != nil {
		return "", fmt.Errorf("run it in its folder: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// connect makes the client that asks about groups.
func (e *environment) connect() error {
	client, err := kgo.NewClient(kgo.SeedBrokers(e.cluster.Addresses()...))
	if err != nil {
		return err
	}
	e.admin = kadm.NewClient(client)
	return nil
}

// fill fills a topic, unless it is full. In the middle of each partition is a value of large bytes, unless large is 0.
func (e *environment) fill(ctx context.Context, topic string, large int) error {
	ends, err := e.admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	has := int64(0)
	ends.Each(func(o kadm.ListedOffset) { has += max(o.Offset, 0) })
	switch has {
	case int64(e.n):
		return nil
	case 0:
		return kafkatest.LargeOrders(ctx, e.cluster.Addresses(), topic, partitions, e.n, large)
	}
	return fmt.Errorf("the topic %s in -dir has %d messages, not %d; take another directory", topic, has, e.n)
}

// startStore starts a process with the store.
func (e *environment) startStore(dir string) (stop func(), err error) {
	cmd := exec.Command(e.self)
	cmd.Env = append(os.Environ(), asStore+"="+filepath.Join(dir, storeBucket))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		in.Close()
		cmd.Wait()
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, fmt.Errorf("the store did not start: %w", err)
	}
	e.store, e.storePID = strings.TrimSpace(address), cmd.Process.Pid
	return stop, nil
}
