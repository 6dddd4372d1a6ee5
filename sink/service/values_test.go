// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/freehold-go/freehold/sink/config"
)

// send writes values to each partition.
func send(t *testing.T, c *kfake.Cluster, values func(partition int) [][]byte) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for p := range partitions {
		for _, v := range values(p) {
			if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: int32(p), Value: v}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRegistry: framed values are stored without their framing; an id that the registry does not know is rejected; while the registry is down nothing is lost or
// committed, and the metrics say so.
func TestRegistry(t *testing.T) {
	var down atomic.Bool
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.URL.Path == "/schemas/types":
			fmt.Fprint(w, `["JSON"]`)
		case down.Load():
			http.Error(w, "down", http.StatusBadGateway)
		case q.URL.Path == "/schemas/ids/7" || q.URL.Path == "/schemas/ids/8":
			fmt.Fprint(w, `{"schemaType":"JSON","schema":"{}"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error_code":40403,"message":"Schema not found"}`)
		}
	}))
	defer registry.Close()
	c := cluster(t)
	conf := configure(t, c)
	conf.HTTP.Listen = "127.0.0.1:0"
	conf.Values = config.Values{Type: "text", Framing: "strip", Registry: config.Registry{URL: []string{registry.URL}}}
	conf.Objects.Format.Name = "jsonl"
	conf.Bad.Action, conf.Bad.Topic = "topic", "dead"
	conf.Rotate = config.Rotate{Records: 4}
	var described bytes.Buffer
	if err := Describe(t.Context(), &described, conf, true); err != nil || !strings.Contains(described.String(), "which is taken off; ids are looked up at http://") || !strings.Contains(described.String(), "types JSON") {
		t.Error(err, described.String())
	}
	values := func(id byte, from int) func(int) [][]byte {
		return func(p int) (all [][]byte) {
			for i := from; i < from+3; i++ {
				all = append(all, fmt.Appendf([]byte{0, 0, 0, 0, id}, `{"id":"%d-%d"}`, p, i))
			}
			return append(all, fmt.Appendf([]byte{0, 0, 0, 0, 99}, `{"id":"%d-%d"}`, p, 100+from))
		}
	}
	send(t, c, values(7, 0))
	r := start(t, conf)
	until(t, c, r, partitions*4)
	down.Store(true)
	send(t, c, values(8, 3))
	for !strings.Contains(get(t, "http://"+r.Address()+"/metrics"), `freehold_sink_registry_attempt_seconds_count{result="failed"}`) {
	}
	if n := committed(t, c, conf.Kafka.Group); n != partitions*4 {
		t.Errorf("%d records are committed while the registry is down", n)
	}
	if err := r.end(); err != nil { // It stops although it waits.
		t.Fatal(err)
	}
	r = start(t, conf)
	down.Store(false)
	until(t, c, r, partitions*8)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	check(t, stored(t, conf, ""), 6)
	if info := c.PartitionInfo("dead", 0); info.HighWatermark != 2*partitions {
		t.Errorf("%d records are in the topic of rejected ones", info.HighWatermark)
	}
}

const orderSource = `syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto";
message Order { string id = 1; google.protobuf.Timestamp created = 2; Customer customer = 3; message Customer { string country = 1; } }`

// message is an order, created at 15:04:05 on 31 January 2026.
func message(id, country string) []byte {
	b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), id)
	b = append(b, "\x12\x06\x08\xe5\xb3\xf8\xcb\x06"...)
	c := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), country)
	return protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), c)
}

// descriptorsFile writes the descriptors of orderSource.
func descriptorsFile(t *testing.T) string {
	name, _ := descriptorsOf(t, orderSource)
	return name
}

// descriptorsOf compiles the text of a .proto file and writes its descriptors.
func descriptorsOf(t *testing.T, source string) (name string, file protoreflect.FileDescriptor) {
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"order.proto": source})})}
	files, err := c.Compile(t.Context(), "order.proto")
	if err != nil {
		t.Fatal(err)
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(files[0])}})
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(t.TempDir(), "order.binpb")
	if err := os.WriteFile(name, set, 0o600); err != nil {
		t.Fatal(err)
	}
	return name, files[0]
}

// TestMessages: messages of Protocol Buffers, by a file of descriptors and by the registry, become lines of JSON in groups by a field and a time, and those that
// are none are rejected. The registry's schema changes between two records.
func TestMessages(t *testing.T) {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		json.NewEncoder(w).Encode(map[string]string{"schemaType": "PROTOBUF", "schema": orderSource + strings.Repeat("\nmessage New {}", len(q.URL.Path)-len("/schemas/ids/1"))})
	}))
	defer registry.Close()
	file := descriptorsFile(t)
	for name, v := range map[string]config.Values{
		"file":     {Type: "protobuf", Descriptors: file, Message: "shop.Order", Framing: "none"},
		"registry": {Type: "protobuf", Framing: "strip", Registry: config.Registry{URL: []string{registry.URL}}},
	} {
		for _, format := range []string{"jsonl", "parquet"} {
			t.Run(name+" "+format, func(t *testing.T) {
				c := cluster(t)
				conf := configure(t, c)
				conf.Values, conf.Objects.Format.Name = v, format
				conf.Objects.PartitionBy = []config.Partition{{Time: "created", Unit: "rfc3339", Layout: "hour"}, {Field: "customer.country"}}
				conf.Bad.Action, conf.Bad.Topic = "topic", "dead"
				conf.Rotate = config.Rotate{Records: 5}
				var described bytes.Buffer
				if err := Describe(t.Context(), &described, conf, false); err != nil || !strings.Contains(described.String(), "messages of Protocol Buffers by ") {
					t.Error(err, described.String())
				}
				values := func(p int) (all [][]byte) {
					for i, country := range []string{"TR", "DE", "TR", "DE", "TR"} {
						b := message(fmt.Sprintf("%d-%d", p, i), country)
						if i == 4 {
							b = b[:len(b)-1] // It is cut off.
						}
						if name == "registry" {
							b = append([]byte{0, 0, 0, 0, []byte{1, 10}[i%3/2], 0}, b...)
						}
						all = append(all, b)
					}
					return all
				}
				send(t, c, values)
				r := start(t, conf)
				until(t, c, r, partitions*5)
				if err := r.end(); err != nil {
					t.Fatal(err)
				}
				if info := c.PartitionInfo("dead", 0); info.HighWatermark != partitions {
					t.Errorf("%d records were rejected", info.HighWatermark)
				}
				if format == "jsonl" {
					check(t, stored(t, conf, ""), 4)
				}
				var report bytes.Buffer
				if err := Inspect(t.Context(), &report, conf, true); err != nil {
					t.Fatal(err)
				}
				want := "orders/dt=2026-01-31/hour=15/country=TR/0001-00000000000000000000." // TR has the offsets 0 and 2.
				objects := "6 objects, 12 records"
				if name == "registry" && format == "parquet" { // The offset 2 has another schema, and so an object of its own.
					objects = "9 objects, 12 records"
				}
				if !strings.Contains(report.String(), want) || !strings.Contains(report.String(), objects) {
					t.Error(report.String())
				}
			})
		}
	}
}

// TestValuesErrors: check says what is wrong with the keys of values, and with paths that no message has.
func TestValuesErrors(t *testing.T) {
	c := cluster(t)
	file := descriptorsFile(t)
	for want, change := range map[string]func(*config.Config){
		"values.descriptors_file: open":           func(c *config.Config) { c.Values.Descriptors = "/nowhere" },
		"are no FileDescriptorSet":                func(c *config.Config) { c.Values.Descriptors = "values_test.go" },
		"they have shop.Order":                    func(c *config.Config) { c.Values.Message = "shop.Orders" },
		`partition_by[0]: the message shop.Order`: func(c *config.Config) { c.Objects.PartitionBy = []config.Partition{{Field: "customers.country"}} },
		"its unit is rfc3339":                     func(c *config.Config) { c.Objects.PartitionBy = []config.Partition{{Time: "created"}} },
		`the message shop.Order.Customer has no`:  func(c *config.Config) { c.Objects.Format.Columns = []string{"customer.contry:string"} },
		"rotate: groups cannot end":               func(c *config.Config) { c.Rotate.Independent = true },
		"messages are no text":                    func(c *config.Config) { c.Objects.Format.Name = "lines" },
		"values.registry: schema registry: the file": func(c *config.Config) {
			c.Values.Framing, c.Values.Registry = "strip", config.Registry{URL: []string{"http://127.0.0.1:1"}, User: "a", PasswordFile: "/nowhere"}
		},
		"127.0.0.1:1": func(c *config.Config) {
			c.Values.Framing, c.Values.Registry = "strip", config.Registry{URL: []string{"http://127.0.0.1:1"}}
		},
	} {
		conf := configure(t, c)
		conf.Objects.Format.Name = "parquet"
		conf.Values = config.Values{Type: "protobuf", Descriptors: file, Message: "shop.Order", Framing: "none"}
		change(&conf)
		if err := Describe(t.Context(), io.Discard, conf, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
