// Command mqtt is the broker of a smart building with mochi-mqtt: panels subscribe to the rooms that
// they show, and devices publish their states with quality of service 1.
//
// The latest state of each of 30,000 devices is retained.
// The client has 12 connections, each a panel and a device: it publishes a state to its own room, and
// waits for the acknowledgement and for the message.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const retained = 30_000

func start(bool) (load.Server, error) {
	server := mqtt.New(&mqtt.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	if err := server.AddHook(new(auth.AllowHook), nil); err != nil {
		return load.Server{}, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	if err := server.AddListener(listeners.NewNet("tcp", l)); err != nil {
		return load.Server{}, err
	}
	if err := server.Serve(); err != nil {
		return load.Server{}, err
	}
	for n := range retained {
		if err := server.Publish(fmt.Sprintf("state/floor%d/device%d", n%40, n), payload(n), true, 0); err != nil {
			return load.Server{}, err
		}
	}
	return load.Server{Address: l.Addr().String(), Stop: func() { server.Close() }}, nil
}

func payload(n int) []byte {
	return fmt.Appendf(nil, `{"device":%d,"on":%t,"temperature":%.1f,"power":%d,"firmware":"3.%d"}`, n, n%2 == 0, 15+float64(n%100)/10, n%900, n%7)
}

// connection is a client of the broker.
type connection struct {
	net.Conn
	in *bufio.Reader
}

// receive reads a packet, and returns the first byte and the rest without its length.
func (c *connection) receive() (kind byte, body []byte, err error) {
	if kind, err = c.in.ReadByte(); err != nil {
		return 0, nil, err
	}
	length, _, err := packets.DecodeLength(c.in)
	if err != nil {
		return 0, nil, err
	}
	body = make([]byte, length)
	_, err = io.ReadFull(c.in, body)
	return kind >> 4, body, err
}

func (c *connection) send(p *packets.Packet, encode func(*bytes.Buffer) error) error {
	var out bytes.Buffer
	p.ProtocolVersion = 4
	if err := encode(&out); err != nil {
		return err
	}
	_, err := c.Write(out.Bytes())
	return err
}

// expect receives a packet of a kind.
func (c *connection) expect(want byte) error {
	kind, body, err := c.receive()
	if err == nil && kind != want {
		err = fmt.Errorf("packet %d: %q; want %d", kind, body, want)
	}
	return err
}

func dial(address string, n int) (load.Request, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &connection{conn, bufio.NewReader(conn)}
	hello := &packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connect}, Connect: packets.ConnectParams{
		ProtocolName: []byte("MQTT"), Clean: true, Keepalive: 600, ClientIdentifier: fmt.Sprintf("panel-%d", n),
	}}
	if err := c.send(hello, hello.ConnectEncode); err != nil {
		return nil, err
	}
	if err := c.expect(packets.Connack); err != nil {
		return nil, err
	}
	topic := fmt.Sprintf("building/floor%d/room%d", n%4, n)
	subscribe := &packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe, Qos: 1}, PacketID: 1, Filters: packets.Subscriptions{{Filter: topic + "/+"}}}
	if err := c.send(subscribe, subscribe.SubscribeEncode); err != nil {
		return nil, err
	}
	if err := c.expect(packets.Suback); err != nil {
		return nil, err
	}
	return func(i int) error {
		publish := &packets.Packet{
			FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: 1}, PacketID: uint16(i%60_000 + 2),
			TopicName: fmt.Sprintf("%s/device%d", topic, i%50), Payload: payload(i),
		}
		if err := c.send(publish, publish.PublishEncode); err != nil {
			return err
		}
		for range 2 { // the acknowledgement and the message, in any order
			kind, body, err := c.receive()
			if err != nil {
				return err
			}
			if kind != packets.Puback && (kind != packets.Publish || !bytes.Contains(body, publish.Payload)) {
				return fmt.Errorf("packet %d: %q", kind, body)
			}
		}
		return nil
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 100_000, Connections: 12, Start: start, Dial: dial})
}
