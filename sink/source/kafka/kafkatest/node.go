// SPDX-License-Identifier: Apache-2.0

package kafkatest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// node is a broker's process, with a shell around it that kills it when its standard input is closed, which also happens when this
// process dies.
type node struct {
	pid   int
	log   string
	input io.Closer
	ended chan struct{} // closed when both have ended
}

// around starts its arguments, prints the process id, and kills the process when the input ends.
const around = `log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & p=$!; echo $p; (cat >/dev/null; kill -9 $p 2>/dev/null) <&3 & wait $p; kill $! 2>/dev/null`

// startNode starts a program, whose output is appended to a file.
func startNode(log string, program ...string) (*node, error) {
	n := &node{log: log, ended: make(chan struct{})}
	cmd := exec.Command("sh", append([]string{"-c", around, "sh", log}, program...)...)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	cmd.ExtraFiles, n.input = []*os.File{read}, write
	out, err := cmd.StdoutPipe()
	if err != nil {
		write.Close()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		write.Close()
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &n.pid)
	}
	go func() {
		cmd.Wait() // The shell's status says nothing.
		close(n.ended)
	}()
	if err != nil {
		write.Close()
		return nil, err
	}
	return n, nil
}

// end sends a signal to the process, and waits until it has ended. It kills one that does not end within 30 seconds.
func (n *node) end(signal os.Signal) error {
	p, err := os.FindProcess(n.pid)
	if err != nil {
		return err
	}
	p.Signal(signal) // It may have ended by itself.
	select {
	case <-n.ended:
	case <-time.After(30 * time.Second):
	}
	n.input.Close() // Kills what is left.
	<-n.ended
	return nil
}
