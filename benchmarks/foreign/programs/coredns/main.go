// Command coredns runs CoreDNS as the resolver of a cluster.
//
// It has a zone of 20,000 names from a file, a forwarder with a cache for other names, metrics and
// error logs. Six of ten queries over UDP are for names of the zone, three for forwarded names that
// are in the cache, and one for a name that is new.
package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coredns/caddy"
	_ "github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/file"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/metrics"
	"github.com/miekg/dns"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	names   = 20_000 // in the zone
	outside = 5_000  // other names that are asked for again and again
)

func main() {
	load.Serve(load.Service{Ops: 60_000, Connections: 16, Start: start, Prepare: serveUpstream, Dial: dial})
}

func start(bool) (load.Server, error) {
	dir, err := os.MkdirTemp("", "coredns")
	if err != nil {
		return load.Server{}, err
	}
	zone := filepath.Join(dir, "db.cluster.example")
	if err := writeZone(zone); err != nil {
		return load.Server{}, err
	}
	upstream, err := loopback()
	if err != nil {
		return load.Server{}, err
	}
	caddy.Quiet = true
	instance, err := caddy.Start(caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: fmt.Appendf(nil, `.:0 {
	bind 127.0.0.1
	errors
	prometheus 127.0.0.1:0
	file %s cluster.example
	cache 300
	forward . %s
}
`, zone, upstream)})
	if err != nil {
		return load.Server{}, err
	}
	return load.Server{Address: instance.Servers()[0].LocalAddr().String() + " " + upstream, Stop: func() {
		instance.Stop()
		os.RemoveAll(dir)
	}}, nil
}

func writeZone(path string) error {
	var text strings.Builder
	text.WriteString("$ORIGIN cluster.example.\n$TTL 300\n@ IN SOA ns.cluster.example. admin.cluster.example. 1 7200 3600 1209600 300\n@ IN NS ns\nns IN A 10.0.0.1\n")
	for i := range names {
		fmt.Fprintf(&text, "service-%d.namespace-%d IN A 10.%d.%d.%d\n", i, i/100, i>>16, i>>8&255, i&255)
	}
	return os.WriteFile(path, []byte(text.String()), 0o666)
}

// loopback returns an address whose UDP port is free now.
func loopback() (string, error) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.LocalAddr().String(), nil
}

// serveUpstream starts in the client's process the name server that CoreDNS forwards to. It answers
// each query with two addresses.
func serveUpstream(address string) error {
	_, upstream, _ := strings.Cut(address, " ")
	c, err := net.ListenPacket("udp", upstream)
	if err != nil {
		return err
	}
	go dns.ActivateAndServe(nil, c, dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		a := new(dns.Msg).SetReply(q)
		for _, ip := range []net.IP{net.IPv4(192, 0, 2, 1), net.IPv4(192, 0, 2, 2)} {
			a.Answer = append(a.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 300}, A: ip})
		}
		w.WriteMsg(a)
	}))
	return nil
}

func dial(address string, _ int) (load.Request, error) {
	server, _, _ := strings.Cut(address, " ")
	c, err := dns.DialTimeout("udp", server, time.Minute)
	if err != nil {
		return nil, err
	}
	client := &dns.Client{Timeout: 10 * time.Second}
	return func(i int) error {
		q := new(dns.Msg).SetQuestion(name(i), dns.TypeA).SetEdns0(1232, false)
		a, _, err := client.ExchangeWithConn(q, c)
		if err == nil && (a.Rcode != dns.RcodeSuccess || len(a.Answer) == 0) {
			err = fmt.Errorf("%s: %s", name(i), dns.RcodeToString[a.Rcode])
		}
		return err
	}, nil
}

// name is the i-th name that is asked for.
func name(i int) string {
	switch i % 10 {
	case 9:
		return fmt.Sprintf("tracker-%d.example.net.", i)
	case 2, 5, 8:
		return fmt.Sprintf("www.site-%d.example.org.", i*7919%outside)
	}
	k := i * 7919 % names
	return fmt.Sprintf("service-%d.namespace-%d.cluster.example.", k, k/100)
}
