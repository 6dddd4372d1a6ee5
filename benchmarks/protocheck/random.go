// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

const (
	batch     = 50               // Schemata in a program, each at three API levels.
	batchTime = 30 * time.Second // Of a program's random inputs.
)

// random compares on random schemata, in programs of a batch each.
func random(o options) error {
	for seed := o.seed; o.time > 0; seed += batch {
		limit := min(o.time, batchTime)
		o.time -= limit
		fmt.Printf("schemata %d to %d: ", seed, seed+batch-1)
		if err := randomBatch(seed, limit); err != nil {
			return fmt.Errorf("go run -tags protolegacy . random -seed %d: %w", seed, err)
		}
	}
	return nil
}

func randomBatch(seed uint64, limit time.Duration) error {
	o, err := newOverlay()
	if err != nil {
		return err
	}
	defer o.remove()
	for i := range uint64(batch) {
		for _, level := range levels {
			f := newSchema(seed+i, fmt.Sprintf("s%d%s", seed+i, level))
			if _, err := protodesc.NewFile(f, nil); err != nil {
				return fmt.Errorf("schema %d: %w", seed+i, err)
			}
			if err := o.generate("generated", level, []*descriptorpb.FileDescriptorProto{f}); err != nil {
				return fmt.Errorf("schema %d: %w", seed+i, err)
			}
		}
	}
	return o.differ("-seed", fmt.Sprint(seed), "-time", limit.String())
}

// differ builds the program that compares, and runs it.
func (o *overlay) differ(args ...string) error {
	binary, err := o.build("differ")
	if err != nil {
		return err
	}
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
