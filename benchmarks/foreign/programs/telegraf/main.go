// Command telegraf is the inner part of an agent that forwards metrics: it reads batches of
// InfluxDB's line protocol with Telegraf's parser, adds tags, keeps them in a buffer of 10000
// metrics, and writes the oldest with Telegraf's serializer.
package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/influxdata/telegraf"
	parsers "github.com/influxdata/telegraf/plugins/parsers/influx"
	serializers "github.com/influxdata/telegraf/plugins/serializers/influx"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

// batches are what ten hosts send: cpu, memory, disk and network.
func batches() [][]byte {
	all := make([][]byte, 10)
	for h := range all {
		var b bytes.Buffer
		at := int64(1_767_225_600_000_000_000)
		for i := range 250 {
			at += 10_000_000
			fmt.Fprintf(&b, "cpu,host=host-%d,cpu=cpu%d,rack=r%d usage_user=%d.%d,usage_system=%d.5,usage_idle=%d.25,usage_iowait=0 %d\n", h, i%32, h%4, i%60, i%10, i%9, 90-i%60, at)
			fmt.Fprintf(&b, "mem,host=host-%d,rack=r%d total=%di,available=%di,used=%di,buffered=%di,swap_free=0i %d\n", h, h%4, 64<<30, (i%60)<<28, (i%50)<<28, i<<16, at)
			fmt.Fprintf(&b, "disk,host=host-%d,device=nvme%dn1,fstype=ext4,path=/data/%d,mode=rw total=%di,free=%di,inodes_used=%di,used_percent=%d.125 %d\n", h, i%8, i%8, 1<<40, i<<30, i*991, i%100, at)
			fmt.Fprintf(&b, "net,host=host-%d,interface=eth%d bytes_recv=%di,bytes_sent=%di,drop_in=0i,state=\"up \\\"full\\\" %d\",promisc=false %d\n", h, i%4, i*77777, i*33333, i%10, at)
		}
		all[h] = b.Bytes()
	}
	return all
}

func newSerializer() *serializers.Serializer {
	s := &serializers.Serializer{SortFields: true, UintSupport: true}
	if err := s.Init(); err != nil {
		panic(err)
	}
	return s
}

// mark does what a processor of the agent does.
func mark(m telegraf.Metric) {
	m.AddTag("dc", "eu-1")
	m.RemoveField("swap_free")
}

// buffered is the number of batches that wait for the output: 10000 metrics, as metric_buffer_limit
// says.
const buffered = 10

func before() load.Op {
	all, serializer := batches(), newSerializer()
	parser := &parsers.Parser{}
	if err := parser.Init(); err != nil {
		panic(err)
	}
	var buffer [buffered][]telegraf.Metric
	return func(i int) {
		metrics, err := parser.Parse(all[i%len(all)])
		if err != nil {
			panic(err)
		}
		for _, m := range metrics {
			mark(m)
		}
		oldest := buffer[i%buffered]
		buffer[i%buffered] = metrics
		out, err := serializer.SerializeBatch(oldest)
		if err != nil {
			panic(err)
		}
		io.Discard.Write(out)
	}
}

func main() { load.Main(load.Sample{Ops: 500, Before: before}) }
