// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
)

// stats carries out stats.
func (c *conn) stats(args [][]byte) {
	c.noreply = false
	c.s.counts.add(&c.counts)
	if len(args) == 0 {
		c.generalStats()
		c.reply("END")
		return
	}
	switch string(args[0]) {
	case "reset":
		c.s.resetStats()
		c.reply("RESET")
		return
	case "detail":
		c.detail(args[1:])
		return
	case "cachedump":
		if problem := c.cachedump(args[1:]); problem != "" {
			c.reply(problem)
			return
		}
	case "conns":
		c.connStats()
	case "settings":
		c.settingsStats()
	case "items":
		if s := c.s.cache.Stats(); s.Entries > 0 {
			c.stat("items:1:number", s.Entries)
			c.stat("items:1:mem_requested", s.BytesEntries)
			c.stat("items:1:evicted", s.Evicted-c.s.evicted.Load())
		}
	case "slabs": // There are no classes of sizes: all items are in class 1.
		s := c.s.cache.Stats()
		if s.Entries > 0 {
			c.stat("1:used_chunks", s.Entries)
		}
		c.stat("active_slabs", min(s.Entries, 1))
		c.stat("total_malloced", s.BytesHeld)
	case "sizes":
		c.stat("sizes_status", "disabled")
	default:
		c.reply("ERROR")
		return
	}
	c.reply("END")
}

// stat answers with a line.
func (c *conn) stat(name string, value any) {
	c.out = fmt.Appendf(c.out, "STAT %s %v\r\n", name, value)
}

func (c *conn) generalStats() {
	s, now := c.s, c.s.now()
	st := s.cache.Stats()
	c.stat("pid", os.Getpid())
	c.stat("uptime", (now-s.wall)/1000)
	c.stat("time", now/1000)
	c.stat("version", s.o.Version)
	c.stat("pointer_size", 32<<(^uint(0)>>63))
	if user, system, ok := cpuTime(); ok {
		c.stat("rusage_user", fmt.Sprintf("%.6f", user.Seconds()))
		c.stat("rusage_system", fmt.Sprintf("%.6f", system.Seconds()))
	}
	c.stat("max_connections", s.o.MaxConns)
	c.stat("curr_connections", s.open.Load())
	for i, name := range counterNames {
		c.stat(name, s.counts[i].Load())
	}
	c.stat("limit_maxbytes", st.Bytes)
	c.stat("accepting_conns", 1) // Too many are refused, not left waiting.
	c.stat("listen_disabled_num", 0)
	c.stat("time_in_listen_disabled_us", 0)
	c.stat("lrutail_reflocked", 0) // There is no list of uses.
	c.stat("threads", runtime.GOMAXPROCS(0))
	c.stat("hash_bytes", st.BytesTable)
	c.stat("bytes", st.BytesEntries)
	c.stat("curr_items", st.Entries)
	c.stat("evictions", st.Evicted-s.evicted.Load())
	c.stat("reclaimed", st.Expired)
}

func (c *conn) settingsStats() {
	o := &c.s.o
	c.stat("maxbytes", c.s.cache.Stats().Bytes)
	c.stat("maxconns", o.MaxConns)
	network, address := listenAddress(o.Listen)
	if network == "unix" {
		c.stat("tcpport", 0)
		c.stat("domain_socket", address)
	} else {
		host, port, _ := net.SplitHostPort(c.s.listener.Addr().String())
		c.stat("tcpport", port)
		c.stat("inter", host)
		c.stat("domain_socket", "NULL")
	}
	c.stat("udpport", 0)
	c.stat("verbosity", 0)
	c.stat("evictions", "on")
	c.stat("shutdown_command", yesNo(o.Shutdown))
	c.stat("num_threads", runtime.GOMAXPROCS(0))
	c.stat("stat_key_prefix", ":")
	c.stat("detail_enabled", yesNo(c.s.prefixes.on.Load()))
	c.stat("cas_enabled", "yes")
	c.stat("auth_enabled_sasl", "no")
	c.stat("item_size_max", o.MaxItem)
	c.stat("maxconns_fast", "yes")
	c.stat("flush_enabled", "yes")
	c.stat("dump_enabled", "yes")
	c.stat("idle_timeout", int64(o.Idle.Seconds()))
	c.stat("client_flags_size", 4)
	c.stat("binding_protocol", "ascii")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// connStats lists the connections. The first one is that which listens.
func (c *conn) connStats() {
	s := c.s
	address := func(a net.Addr) string { return a.Network() + ":" + a.String() }
	listens := address(s.listener.Addr())
	c.stat("0:addr", listens)
	c.stat("0:state", "conn_listening")
	s.mu.Lock()
	defer s.mu.Unlock()
	for nc, number := range s.conns {
		c.stat(fmt.Sprintf("%d:addr", number), address(nc.RemoteAddr()))
		c.stat(fmt.Sprintf("%d:listen_addr", number), listens)
		state := "conn_waiting"
		if nc == c.nc {
			state = "conn_parse_cmd"
		}
		c.stat(fmt.Sprintf("%d:state", number), state)
	}
}

// mostDump is the number of bytes that stats cachedump lists, at least.
const mostDump = 2 << 20

// cachedump lists the keys of some items: all have class 1, and 0 is no limit of their number. It returns the
// error of the protocol.
func (c *conn) cachedump(args [][]byte) string {
	if len(args) < 2 {
		return "CLIENT_ERROR bad command line"
	}
	class, ok1 := parseUint32(args[0])
	limit, ok2 := parseUint32(args[1])
	switch {
	case !ok1 || !ok2:
		return badFormat
	case class > 63:
		return "CLIENT_ERROR Illegal slab id"
	case class != 1:
		return ""
	}
	listed := uint32(0)
	for key, v := range c.s.cache.All() {
		it, ok := itemOf(v)
		if !ok {
			continue
		}
		if it.state&stateBinary != 0 {
			key = base64.StdEncoding.AppendEncode(nil, key)
		}
		c.out = fmt.Appendf(c.out, "ITEM %s [%d b; %d s]\r\n", key, len(it.data), it.exp/1000)
		if listed++; listed == limit || len(c.out) > mostDump {
			break
		}
	}
	return ""
}

// resetStats sets the figures to zero that count events.
func (s *server) resetStats() {
	for i := range s.counts {
		s.counts[i].Store(0)
	}
	s.evicted.Store(s.cache.Stats().Evicted)
	s.prefixes.clear()
}

// detail carries out stats detail.
func (c *conn) detail(args [][]byte) {
	p := &c.s.prefixes
	word := ""
	if len(args) > 0 {
		word = string(args[0])
	}
	switch word {
	case "on", "off":
		p.on.Store(word == "on")
		c.reply("OK")
	case "dump":
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, name := range slices.Sorted(maps.Keys(p.of)) {
			n := p.of[name]
			c.out = fmt.Appendf(c.out, "PREFIX %s get %d hit %d set %d del %d\r\n", name, n[0], n[1], n[2], n[3])
		}
		c.reply("END")
	default:
		c.reply("CLIENT_ERROR usage: stats detail on|off|dump")
	}
}
