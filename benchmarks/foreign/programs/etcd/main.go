// Command etcd embeds one etcd server with the default configuration.
//
// Its keyspace is that of a Kubernetes cluster of some hundred nodes: 20,000 keys of 60 to 80 bytes
// with values of 0.3 to 2 KiB. Of twenty requests thirteen read a key, four update one, and three
// read a namespace of 100 keys.
//
// After the change etcd's gRPC server has goroutines that stay, so that their stacks have grown
// already. By default it starts a goroutine for each call.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	keys        = 20_000
	namespace   = 100 // keys in a namespace
	batch       = 100 // keys in a transaction that fills the store
	connections = 16
)

func main() {
	load.Serve(load.Service{Ops: 10_000, Connections: connections, Start: start, HasAfter: true, Prepare: prepare, Dial: dial})
}

func start(after bool) (load.Server, error) {
	dir, err := os.MkdirTemp("", "etcd")
	if err != nil {
		return load.Server{}, err
	}
	client, err := loopback()
	if err != nil {
		return load.Server{}, err
	}
	peer, err := loopback()
	if err != nil {
		return load.Server{}, err
	}
	c := embed.NewConfig()
	c.Dir = filepath.Join(dir, "data")
	c.LogLevel = "error"
	c.ListenClientUrls, c.AdvertiseClientUrls = client, client
	c.ListenPeerUrls, c.AdvertisePeerUrls = peer, peer
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	if after {
		c.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.NumStreamWorkers(2 * connections)}
	}
	etcd, err := embed.StartEtcd(c)
	if err != nil {
		return load.Server{}, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		return load.Server{}, err
	case <-time.After(time.Minute):
		return load.Server{}, fmt.Errorf("etcd is not ready after a minute")
	}
	return load.Server{Address: client[0].String(), Stop: func() {
		etcd.Close()
		os.RemoveAll(dir)
	}}, nil
}

// loopback returns a URL with a port that is free now.
func loopback() ([]url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return []url.URL{{Scheme: "http", Host: l.Addr().String()}}, nil
}

func open(address string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{address}, DialTimeout: 10 * time.Second})
}

// key returns the k-th key. Numbers from one namespace follow each other.
func key(k int) string { return fmt.Sprintf("%s/workload-%06d-6f7d8c9b5d-x2kqj", prefix(k), k) }

func prefix(k int) string { return fmt.Sprintf("/registry/pods/namespace-%04d", k/namespace) }

// value returns a value like an encoded object: its size depends on the key.
func value(k, revision int) string {
	r := rand.New(rand.NewPCG(uint64(k), uint64(revision)))
	text := make([]byte, 300+(k*7919)%1700)
	for i := range text {
		text[i] = byte(' ' + r.IntN(90))
	}
	return string(text)
}

func prepare(address string) error {
	c, err := open(address)
	if err != nil {
		return err
	}
	defer c.Close()
	for k := 0; k < keys; k += batch {
		var puts []clientv3.Op
		for n := k; n < k+batch; n++ {
			puts = append(puts, clientv3.OpPut(key(n), value(n, 0)))
		}
		if _, err := c.Txn(context.Background()).Then(puts...).Commit(); err != nil {
			return err
		}
	}
	return nil
}

func dial(address string, _ int) (load.Request, error) {
	c, err := open(address)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	return func(i int) error {
		k := i * 7919 % keys
		switch i % 20 {
		case 3, 8, 13, 18:
			_, err := c.Put(ctx, key(k), value(k, i))
			return err
		case 5, 11, 17:
			return read(c, prefix(k)+"/", namespace, clientv3.WithPrefix())
		}
		return read(c, key(k), 1)
	}, nil
}

func read(c *clientv3.Client, key string, want int, options ...clientv3.OpOption) error {
	answer, err := c.Get(context.Background(), key, options...)
	if err == nil && len(answer.Kvs) != want {
		err = fmt.Errorf("%s: %d keys, want %d", key, len(answer.Kvs), want)
	}
	return err
}
