// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// Options say which process to look at, and how. PID, URL or both are set.
type Options struct {
	PID int
	// URL is the address of the program's net/http/pprof. Without PID, the process that listens there is looked up.
	URL string
	// Server says how to reach the URL.
	Server debugport.Options
	// Collect runs a collection first, so that the live heap is exact.
	Collect bool
	// Creators stops the program while it writes every goroutine's stack; Leaks runs a collection that finds leaked goroutines.
	Creators, Leaks bool
	// Proc and Groups are the folders of the kernel's files, for tests. They are /proc and /sys/fs/cgroup by default.
	Proc, Groups string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

func (o *Options) prepare() error {
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	if o.Groups == "" {
		o.Groups = "/sys/fs/cgroup"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	switch {
	case o.PID < 0 || o.PID == 0 && o.URL == "":
		return errors.New("rss: want a process ID, or the URL of a program with net/http/pprof")
	case o.URL == "" && (o.Collect || o.Creators || o.Leaks):
		return errors.New("rss: -gc, -creators and -leaks ask the program itself: give its URL as well, or -find")
	}
	return nil
}

// Run takes the account of one process.
func Run(ctx context.Context, o Options) (*Report, error) {
	s, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	return s.account(ctx)
}

// A subject is a process that reports are made of.
type subject struct {
	*Options
	process *target           // nil if only the URL is known
	server  *debugport.Server // nil without a URL
	program *program
	note    string // why there is no process
	low     int64  // the smallest HeapAlloc since the last collection, 0 if that collection was not seen
	seen    *figures
	brief   bool // leave out the profile of goroutines, which takes the program some microseconds for each
}

// open looks at what the options name.
func open(ctx context.Context, o Options) (*subject, error) {
	if err := o.prepare(); err != nil {
		return nil, err
	}
	s := &subject{Options: &o, program: &program{gogc: 100}}
	if o.URL != "" {
		server, err := debugport.ParseWith(o.URL, o.Server)
		if err != nil {
			return nil, fmt.Errorf("rss: %w", err)
		}
		s.server = server
	}
	switch {
	case o.PID > 0:
		s.process = &target{o.Proc, o.PID}
	case s.server != nil:
		if pid := ownerOf(o.Proc, localPort(o.URL)); pid > 0 {
			s.process = &target{o.Proc, pid}
		}
	}
	if s.process != nil {
		program, err := s.process.program()
		if err != nil {
			return nil, err
		}
		s.program = program
	}
	if s.server != nil {
		if err := s.compare(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// localPort is the port of an address on this machine's loopback interface, 0 for others.
func localPort(address string) uint16 {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return 0
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	n, _ := strconv.ParseUint(port, 10, 16)
	return uint16(n)
}

// compare checks that the URL is of the process, by the command line.
func (s *subject) compare(ctx context.Context) error {
	data, err := s.server.Get(ctx, debugport.Pprof+"/cmdline", 0)
	if err != nil {
		return fmt.Errorf("rss: %w", err)
	}
	command := strings.ReplaceAll(strings.TrimRight(string(data), "\x00"), "\x00", " ")
	switch {
	case s.process == nil:
		s.program.command = command
		s.note = fmt.Sprintf("no process here listens at %s that freehold may look at", s.server)
	case command != s.program.command && s.PID > 0:
		return fmt.Errorf("rss: %s answers for %q, and process %d is %q; give the URL of that process, or the URL alone", s.server, short(command), s.PID, short(s.program.command))
	case command != s.program.command: // a proxy, such as that of a container
		s.note = fmt.Sprintf("process %d listens at %s and passes requests on to another: give the process ID as well", s.process.pid, s.server)
		s.process, s.program = nil, &program{gogc: 100, command: command}
	}
	return nil
}

// account makes a report.
func (s *subject) account(ctx context.Context) (*Report, error) {
	r := &Report{Version: ReportVersion, Time: s.Now(), Command: s.program.command, Go: s.program.goVersion, Main: s.program.main, isGo: s.program.isGo, Notes: []string{}, Advice: []Advice{}}
	r.note(s.program.note)
	if s.process != nil {
		r.PID = s.process.pid
	}
	var f *figures
	l, err := s.mappings(ctx, r, &f)
	if err != nil {
		return nil, err
	}
	rss := 0.0
	if f != nil {
		metrics, vars := metricsOf(ctx, s.server)
		rss, _ = metrics.Get(evidence.MetricRSS)
		r.Purposes, r.Sites = purposesOf(vars), sitesOf(f.heap)
		set := settingsOf(s.program, metrics, f)
		r.runtimeOf(f, set, s.live(f, set))
		if r.Goroutines, err = s.goroutines(ctx, metrics); err != nil {
			return nil, err
		}
	}
	switch {
	case l != nil:
		r.account(l, f)
	case f != nil:
		r.note(s.note)
		if s.process != nil { // its status can be read if its mappings cannot
			rss = float64(kib(s.process.status()["VmRSS"]))
		}
		r.accountOfRuntime(f, int64(rss))
	}
	if s.process != nil {
		status := s.process.status()
		r.Group = groupOf(s.process, s.Groups, kib(status["RssAnon"]))
	}
	r.advise()
	return r, nil
}

func (r *Report) runtimeOf(f *figures, set settings, live *Live) {
	r.Pprof, r.Live, r.Collections = true, live, f.collections
	r.Limit, r.LimitBinds = set.limit, set.binds(f)
	if r.GOGC = set.gogc; math.IsInf(set.gogc, 1) {
		r.GOGC = -1
	}
}

func (s *subject) live(f *figures, set settings) *Live {
	if s.Collect {
		return &Live{s.low, s.low, s.low, "HeapAlloc right after a collection"}
	}
	return liveOf(f, set, s.low)
}

// mostTries is how often something is read again because the process changed in between.
const mostTries = 5

// mappings reads the process's mappings, and the runtime's figures before and after. It is nil without error if the process cannot be
// read but its figures can.
func (s *subject) mappings(ctx context.Context, r *Report, f **figures) (*layout, error) {
	path := debugport.HeapText
	if s.Collect {
		path = debugport.Heap + "&debug=1"
	}
	for try := 1; ; try++ {
		var before, after *figures
		var err error
		if s.server != nil {
			if before, err = s.figures(ctx, path); err != nil {
				return nil, err
			}
			if s.Collect {
				s.low = before.alloc
			}
		}
		l, err := s.layout()
		if err != nil {
			if s.server == nil {
				return nil, err
			}
			s.note = strings.TrimPrefix(err.Error(), "rss: ")
			*f = before
			return nil, nil
		}
		if s.server == nil {
			return l, nil
		}
		if l == nil {
			*f = before
			return nil, nil
		}
		if after, err = s.figures(ctx, debugport.HeapText); err != nil {
			return nil, err
		}
		if *f = between(before, after); before.collections == after.collections {
			return l, nil
		}
		if try == mostTries {
			r.note(fmt.Sprintf("collections ran while the account was taken, in all of %d tries: the heap's lines are means of before and after", mostTries))
			return l, nil
		}
	}
}

// figures reads the runtime's figures, and notes the heap after a collection.
func (s *subject) figures(ctx context.Context, path string) (*figures, error) {
	f, err := readFigures(ctx, s.server, path)
	if err != nil {
		return nil, err
	}
	if s.seen != nil && s.seen.collections < f.collections && !s.Collect {
		s.low = f.alloc
	}
	s.seen = f
	return f, nil
}

// layout reads the mappings; nil without a process. The kernel writes smaps in pieces and lets the process run in between: if two
// mappings merge meanwhile, it writes the whole after a part of it. Such a reading is taken again.
func (s *subject) layout() (*layout, error) {
	if s.process == nil {
		return nil, nil
	}
	for try := 1; ; try++ {
		data, err := s.process.read("smaps")
		if err != nil {
			return nil, err
		}
		list, err := parseSmaps(data)
		switch {
		case err != nil:
			return nil, fmt.Errorf("rss: process %d: %w", s.process.pid, err)
		case len(list) == 0:
			return nil, fmt.Errorf("rss: process %d ended while it was read", s.process.pid)
		case !overlap(list):
			return layoutOf(list, s.program.exe), nil
		case try == mostTries:
			return nil, fmt.Errorf("rss: the mappings of process %d changed in all of %d readings; run freehold again", s.process.pid, mostTries)
		}
	}
}

// goroutines reads the profiles of goroutines that were asked for.
func (s *subject) goroutines(ctx context.Context, metrics evidence.Metrics) (*Goroutines, error) {
	if s.brief {
		if n, ok := metrics.Get(evidence.MetricGoroutines); ok {
			return &Goroutines{Count: int(n)}, nil
		}
		return nil, nil
	}
	text, err := s.server.Get(ctx, goroutinesPath, 0)
	if err != nil {
		return nil, fmt.Errorf("rss: %w", err)
	}
	g, err := parseGoroutines(text)
	if err != nil {
		return nil, err
	}
	if s.Creators {
		if text, err = s.server.Get(ctx, creatorsPath, 0); err != nil {
			return nil, fmt.Errorf("rss: -creators: %w", err)
		}
		g.Creators = parseCreators(text)
	}
	if s.Leaks {
		text, err = s.server.Get(ctx, leaksPath, 0)
		if debugport.Status(err) == 404 {
			return nil, errors.New("rss: -leaks: the program has no profile of leaked goroutines, which Go 1.27 and later have; -creators says who starts them")
		}
		if err != nil {
			return nil, fmt.Errorf("rss: -leaks: %w", err)
		}
		leaks, err := parseGoroutines(text)
		if err != nil {
			return nil, err
		}
		g.Leaks = leaks.Begin
	}
	return g, nil
}
