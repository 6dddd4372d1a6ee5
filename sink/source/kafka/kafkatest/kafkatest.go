// SPDX-License-Identifier: Apache-2.0

// Package kafkatest runs brokers of Apache Kafka on this machine, for tests and benchmarks that need a real one.
//
// Brokers listen on 127.0.0.1, keep their data in a directory, and end with the process that started them. They take 2 seconds to start and some 400 MiB
// of memory each.
package kafkatest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Options say what a cluster is like. Dir is needed.
type Options struct {
	// Dir has the data. If a cluster has used it before, that cluster starts again, with its addresses.
	Dir string
	// Brokers is their number. The first one is also the controller. 0 is one.
	Brokers int
	// Heap is that of each broker. "" is 512m.
	Heap string
	// Settings are added to server.properties.
	Settings map[string]string
}

// A Cluster is brokers that run. One goroutine at a time uses it.
type Cluster struct {
	o     Options
	libs  string
	known identity
	nodes []*node
}

// identity is what remains the same when a cluster starts again.
type identity struct {
	ID         string
	Controller int   // port
	Ports      []int // of the brokers
}

// New starts a cluster and waits until all brokers answer. The error wraps ErrUnavailable if this machine lacks Java or Kafka.
func New(ctx context.Context, o Options) (*Cluster, error) {
	libs, err := Install(ctx)
	if err != nil {
		return nil, fmt.Errorf("kafkatest: %w", err)
	}
	if o.Brokers == 0 {
		o.Brokers = 1
	}
	if o.Heap == "" {
		o.Heap = "512m"
	}
	c := &Cluster{o: o, libs: libs, nodes: make([]*node, o.Brokers)}
	if err := c.identify(ctx); err != nil {
		return nil, fmt.Errorf("kafkatest: %w", err)
	}
	for i := range c.nodes { // All of them first: a broker does not answer before it has found the controller.
		if err := c.launch(ctx, i); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	for i := range c.nodes {
		if err := c.await(ctx, i); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// identify reads the identity of the cluster in the directory, or makes one.
func (c *Cluster) identify(ctx context.Context) error {
	if err := os.MkdirAll(c.o.Dir, 0o777); err != nil {
		return err
	}
	file := filepath.Join(c.o.Dir, "cluster.json")
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &c.known)
		if err == nil && len(c.known.Ports) != c.o.Brokers {
			err = fmt.Errorf("%s has a cluster of %d brokers", c.o.Dir, len(c.known.Ports))
		}
		return err
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	ports, err := freePorts(c.o.Brokers + 1)
	if err != nil {
		return err
	}
	id, err := exec.CommandContext(ctx, "java", "-cp", filepath.Join(c.libs, "*"), "kafka.tools.StorageTool", "random-uuid").Output()
	if err != nil {
		return fmt.Errorf("an id for the cluster: %w", err)
	}
	c.known = identity{ID: strings.TrimSpace(string(id)), Controller: ports[0], Ports: ports[1:]}
	if text, err = json.Marshal(c.known); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o666)
}

// freePorts are ports that nobody listens at.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // After the loop, so that the ports differ.
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// Addresses are those of all brokers, whether they run or not.
func (c *Cluster) Addresses() (addresses []string) {
	for _, port := range c.known.Ports {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port))
	}
	return addresses
}

// Libs is the folder with Kafka's jars.
func (c *Cluster) Libs() string { return c.libs }

// PID is the process of broker i, counted from 0, or 0 if it does not run.
func (c *Cluster) PID(i int) int {
	if c.nodes[i] == nil {
		return 0
	}
	return c.nodes[i].pid
}

// Kill ends broker i by SIGKILL.
func (c *Cluster) Kill(i int) error { return c.end(i, os.Kill) }

// Start starts broker i again, and waits until it answers.
func (c *Cluster) Start(ctx context.Context, i int) error {
	if err := c.launch(ctx, i); err != nil {
		return err
	}
	return c.await(ctx, i)
}

// Close stops all brokers. The data stays.
func (c *Cluster) Close() (err error) {
	for i := len(c.nodes) - 1; i >= 0; i-- { // The controller last: the others tell it that they go.
		err = errors.Join(err, c.end(i, syscall.SIGTERM))
	}
	return err
}

// await waits until a broker answers a request. Its port is open some time before.
func (c *Cluster) await(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Addresses()[i]))
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		err := client.Ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-c.nodes[i].ended:
			return fmt.Errorf("kafkatest: broker %d has ended, see %s", i, c.nodes[i].log)
		case <-ctx.Done():
			return fmt.Errorf("kafkatest: broker %d does not answer, see %s: %w", i, c.nodes[i].log, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// launch starts the process of a broker.
func (c *Cluster) launch(ctx context.Context, i int) error {
	dir := filepath.Join(c.o.Dir, fmt.Sprintf("node%d", i+1))
	data, properties, classes := filepath.Join(dir, "data"), filepath.Join(dir, "server.properties"), filepath.Join(c.libs, "*")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(properties, []byte(c.properties(i, data)), 0o666); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(data, "meta.properties")); err != nil {
		as := "--no-initial-controllers"
		if i == 0 {
			as = "--standalone"
		}
		out, err := exec.CommandContext(ctx, "java", "-cp", classes, "kafka.tools.StorageTool", "format", as, "-t", c.known.ID, "-c", properties).CombinedOutput()
		if err != nil {
			return fmt.Errorf("kafkatest: formatting the storage of broker %d: %w\n%s", i, err, out)
		}
	}
	n, err := startNode(filepath.Join(dir, "broker.log"), "java", "-Xms256m", "-Xmx"+c.o.Heap, "-XX:+UseG1GC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classes, "kafka.Kafka", properties)
	if err != nil {
		return fmt.Errorf("kafkatest: starting broker %d: %w", i, err)
	}
	c.nodes[i] = n
	return nil
}

// end sends a signal to a broker, and waits until it has ended.
func (c *Cluster) end(i int, signal os.Signal) error {
	n := c.nodes[i]
	if n == nil {
		return nil
	}
	c.nodes[i] = nil
	return n.end(signal)
}

// properties is the configuration of a broker.
func (c *Cluster) properties(i int, data string) string {
	address := c.Addresses()[i]
	copies := fmt.Sprint(min(len(c.known.Ports), 3))
	p := map[string]string{
		"process.roles": "broker", "node.id": fmt.Sprint(i + 1), "log.dirs": data,
		"controller.quorum.bootstrap.servers": fmt.Sprintf("127.0.0.1:%d", c.known.Controller), "controller.listener.names": "CONTROLLER",
		"listeners": "PLAINTEXT://" + address, "advertised.listeners": "PLAINTEXT://" + address,
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "inter.broker.listener.name": "PLAINTEXT",
		"auto.create.topics.enable": "false", "default.replication.factor": copies, "min.insync.replicas": "1",
		"offsets.topic.replication.factor": copies, "offsets.topic.num.partitions": "1",
		"transaction.state.log.replication.factor": copies, "transaction.state.log.min.isr": "1",
		"share.coordinator.state.topic.replication.factor": copies, "share.coordinator.state.topic.min.isr": "1",
		"group.initial.rebalance.delay.ms": "0",  // A default broker waits 3 s for more members.
		"log.retention.hours":              "-1", // Timestamps of tests are years old.
		"num.network.threads":              "2", "num.io.threads": "4",
	}
	if i == 0 {
		p["process.roles"] = "broker,controller"
		p["listeners"] += fmt.Sprintf(",CONTROLLER://127.0.0.1:%d", c.known.Controller)
	}
	maps.Copy(p, c.o.Settings)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "%s=%s\n", name, p[name])
	}
	return b.String()
}
