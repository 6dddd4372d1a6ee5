// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/internal/failpoint"
)

// Variables of child processes.
const (
	asCommand = "FREEHOLD_TEST_AS_COMMAND" // The process is freehold-sink with its arguments.
	diesAt    = "FREEHOLD_TEST_DIES"       // It ends itself by SIGKILL at a place, the n-th time: "stored:3".
)

// TestMain lets tests run this program as freehold-sink, in processes of their own.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	if at := os.Getenv(diesAt); at != "" {
		arm(at)
	}
	main()
	os.Exit(0)
}

// arm has this process die at a place.
func arm(at string) {
	place, text, _ := strings.Cut(at, ":")
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	a := &armed{place: place, left: n}
	failpoint.Set(a.pass)
}

// armed counts what passes failpoints. During an upload is between two of them, at a random moment.
type armed struct {
	mu        sync.Mutex
	place     string
	left      int // times to pass before the process dies
	uploading int
}

func (a *armed) pass(place string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch place {
	case failpoint.Upload:
		a.uploading++
	case failpoint.Uploaded:
		a.uploading--
	}
	if place != a.place {
		return
	}
	if a.left--; a.left > 0 {
		return
	}
	if place != failpoint.Upload {
		die(place)
	}
	go func() {
		time.Sleep(rand.N(5 * time.Millisecond))
		a.mu.Lock() // No upload ends from here on, as far as the sink can see.
		defer a.mu.Unlock()
		if a.uploading > 0 {
			die(place)
		}
	}()
}

// killed is printed before the process dies at a place.
const killed = "killed at "

func die(place string) {
	fmt.Println(killed + place)
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {}
}
