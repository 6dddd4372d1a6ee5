// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/cmd/bench"
)

const documentsName = "docs"

// Main is the function main of a program that freehold bench -type builds: it measures the decoding of the files of
// -docs as messages of one type.
func Main(newMessage func() proto.Message) {
	set := bench.NewSet(userTask(newMessage).Workload())
	set.RunChild()
	command := set.Command()
	if err := command.Run(context.Background(), os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// userTask is the task for a type of the user's.
func userTask(newMessage func() proto.Message) Task {
	return Task{
		Name: "proto", Doc: fmt.Sprintf("Decode messages of type %s, and keep the four latest.", newMessage().ProtoReflect().Descriptor().FullName()),
		New:  newMessage,
		Data: func(r *bench.Run) ([]byte, error) { return r.Input.Read() },
		Size: "bytes",
		Inputs: func(o *bench.Options) ([]bench.Input, error) {
			return bench.InputFiles(o.Flags[documentsName], func(string) bool { return true })
		},
		Flags: []bench.Flag{{
			Flag: &cli.StringFlag{Name: documentsName, Usage: "decode the files that match `GLOB`, .zst and .gz too, each as one message"},
			Read: func(c *cli.Command, o *bench.Options) error {
				o.Flags[documentsName] = c.String(documentsName)
				return nil
			},
		}},
	}
}
