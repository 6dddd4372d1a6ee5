// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/freehold-go/freehold/sink/internal/orders"
)

// asBroker is the variable that makes a process of this program the broker of the demo.
const asBroker = "FREEHOLD_SINK_DEMO_BROKER"

// The topic of the demo, and the number of its partitions.
const (
	topic      = "orders"
	partitions = 8
)

// RunBroker is the broker, if this process is one: it serves until its standard input is closed, which also happens when the process that
// started it dies. Otherwise it returns at once.
func RunBroker() {
	if os.Getenv(asBroker) == "" {
		return
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve serves one batch of orders again and again, from any offset.
func serve() error {
	batch, err := makeBatch()
	if err != nil {
		return err
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic), kfake.SyntheticFetch(kfake.SyntheticBatch{Batch: batch}))
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Println(c.ListenAddrs()[0])
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// makeBatch returns a batch of orders as a broker keeps it: a producer writes it to a topic, and a request reads it. The client speaks an older
// version of the protocol, in which requests name topics.
func makeBatch() ([]byte, error) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topic))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.MaxVersions(kversion.V2_7_0()), kgo.ProducerLinger(100*time.Millisecond), kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	g := orders.New(1)
	records := make([]*kgo.Record, 600)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Key: g.AppendKey(nil, i), Value: g.AppendValue(nil, i), Timestamp: time.UnixMilli(orders.Time(i))}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, err
	}
	r := kmsg.NewPtrFetchRequest()
	r.MaxBytes, r.MaxWaitMillis = 64<<20, 1000
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 64 << 20
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	resp, err := r.RequestWith(ctx, client.Broker(0))
	if err != nil {
		return nil, err
	}
	if len(resp.Topics) == 0 || len(resp.Topics[0].Partitions) == 0 || len(resp.Topics[0].Partitions[0].RecordBatches) < 61 {
		return nil, errors.New("demo: the broker has no batch")
	}
	all := resp.Topics[0].Partitions[0].RecordBatches
	var b kmsg.RecordBatch
	if err := b.ReadFrom(all); err != nil {
		return nil, err
	}
	return all[:12+b.Length], nil // The offset and the length stand before what the length counts.
}

// startBroker starts a process with the broker.
func startBroker(ctx context.Context, program string) (address string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), asBroker+"=1", "FREEHOLD=")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("starting the demo's broker: %w", err)
	}
	stop = func() {
		in.Close()
		cmd.Wait()
	}
	address, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the demo's broker did not start: %w", err)
	}
	return strings.TrimSpace(address), stop, nil
}
