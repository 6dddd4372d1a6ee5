package load

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	_ "net/http/pprof" // a stranger's service has its profiles from there
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Service is a server under load. A run has two processes of the same binary: the server, and a
// client that the server's process starts. The profiles and the CPU time are the server's alone.
type Service struct {
	// Ops is the number of requests of a run, unless -ops is given. A run should take 1 to 3
	// seconds of the server's CPU time.
	Ops int

	// Connections is the number of goroutines of the client that send requests, one at a time each.
	Connections int

	// Start starts the server, in the form after a change if after is true. The server listens on
	// loopback, on a port that the system chooses.
	Start func(after bool) (Server, error)

	// HasAfter says that Start knows the form after a change.
	HasAfter bool

	// Prepare runs in the client's process before anything is measured. It fills the server, for
	// example with keys. It may be nil.
	Prepare func(address string) error

	// Dial runs in the client's process once for each connection, and returns the function that
	// sends one request and checks the answer.
	Dial func(address string, connection int) (Request, error)
}

// Request sends the i-th request. i counts from 0 over all connections and never repeats within a
// run: the warm-up has the first numbers.
type Request func(i int) error

// Server is a server that has started.
type Server struct {
	Address string // what Prepare and Dial get; host:port, a URL or a path, as the driver likes

	// Debug is the host:port that serves /debug/pprof/, if the server does so by itself. Otherwise
	// Serve adds a listener for net/http/pprof on loopback.
	Debug string

	Stop func() // may be nil; the process ends after it
}

// Serve is the main function of a server's driver:
//
//	func main() {
//		load.Serve(load.Service{Ops: 50_000, Connections: 16, Start: start, Dial: dial})
//	}
//
// Its flags are those of [Main] and -seconds, the length of a run with -profiles: it takes the
// profiles through the pprof endpoints while the client sends requests without a count. It ends the
// process with 1 after an error, also if a request fails.
//
// For a tool that starts the server and its load by itself, -serve FILE is the server alone, which
// writes its address into the file and ends at SIGTERM or an interrupt, and -load FILE sends it the
// requests of a run, and prints nothing.
func Serve(s Service) {
	out := ownStdout()
	o, times := newOptions(s.Ops)
	seconds := o.flags.Int("seconds", 10, "`length` of the CPU profile")
	address := o.flags.String("client", "", "be the client of the server at the `address`; Serve starts it so")
	debug := o.flags.String("debug", "", "the client's `address` of the profiles")
	serveFile := o.flags.String("serve", "", "be the server alone, until SIGTERM, and write its address into the `file`")
	loadFile := o.flags.String("load", "", "send requests to the server whose address is in the `file`")
	o.flags.Parse(os.Args[1:])
	o.ops *= *times
	c := client{Service: s, options: o, address: *address, debug: *debug, seconds: *seconds}
	var err error
	switch {
	case *serveFile != "":
		err = serveAlone(*serveFile, s, o)
	case *loadFile != "":
		if c.address, err = waitForAddress(*loadFile); err == nil {
			err = c.alone()
		}
	case *address != "":
		err = c.run(os.Stdin, out)
	default:
		err = serve(out, s, o, *seconds)
	}
	if err != nil {
		fail(err)
	}
}

// serve is the server's process.
func serve(out io.Writer, s Service, o *options, seconds int) error {
	server, err := s.start(o)
	if err != nil {
		return err
	}
	if server.Debug == "" {
		if server.Debug, err = servePprof(); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"-client", server.Address, "-debug", server.Debug, "-ops", strconv.Itoa(o.ops)}
	if o.profiles != "" {
		args = append(args, "-profiles", o.profiles, "-seconds", strconv.Itoa(seconds))
	}
	cmd := exec.Command(self, args...)
	cmd.Env = plain(os.Environ())
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	result, err := conduct(stdin, bufio.NewReader(stdout))
	stdin.Close()
	if e := cmd.Wait(); e != nil {
		return fmt.Errorf("the client: %w", e)
	}
	if err != nil {
		return err
	}
	if server.Stop != nil {
		server.Stop()
	}
	return json.NewEncoder(out).Encode(result)
}

func (s *Service) start(o *options) (server Server, err error) {
	if o.after && !s.HasAfter {
		return server, errors.New("-after: this program has no form after a change")
	}
	if server, err = s.Start(o.after); err != nil {
		return server, fmt.Errorf("starting the server: %w", err)
	}
	return server, nil
}

// serveAlone is the server's process without a client. Before it listens no file has an address.
func serveAlone(file string, s Service, o *options) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	server, err := s.start(o)
	if err != nil {
		return err
	}
	part := file + ".part"
	if err := os.WriteFile(part, []byte(server.Address), 0o666); err != nil {
		return err
	}
	if err := os.Rename(part, file); err != nil {
		return err
	}
	<-end
	if server.Stop != nil {
		server.Stop()
	}
	return nil
}

// waitForAddress reads the file of serveAlone, which comes soon after the server listens.
func waitForAddress(file string) (string, error) {
	const patience = time.Minute
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err == nil || time.Since(begin) > patience {
			return string(text), err
		}
	}
}

// conduct starts the clock between the client's lines "ready" and its number of requests.
func conduct(stdin io.Writer, stdout *bufio.Reader) (r Result, err error) {
	if line, err := stdout.ReadString('\n'); err != nil || line != ready {
		return r, fmt.Errorf("the client is not ready: %q, %v", line, err)
	}
	runtime.GC()
	clock, err := startClock()
	if err != nil {
		return r, err
	}
	if _, err := io.WriteString(stdin, start); err != nil {
		return r, err
	}
	line, err := stdout.ReadString('\n')
	if err != nil {
		return r, fmt.Errorf("the client did not finish: %w", err)
	}
	ops, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return r, fmt.Errorf("the client's number of requests: %w", err)
	}
	return clock.stop(ops)
}

// servePprof serves the handlers of net/http/pprof, and returns the address.
func servePprof() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute} // its handler is http.DefaultServeMux
	go server.Serve(l)
	return l.Addr().String(), nil
}

// plain drops from an environment the settings of the server's runtime: the client runs under the
// same ones always.
func plain(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"}, name)
	})
}
