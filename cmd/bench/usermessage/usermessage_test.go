// SPDX-License-Identifier: Apache-2.0

package usermessage

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/freehold-go/freehold/cmd/bench"
)

// runBench runs bench with arguments. The action of bench itself is another.
func runBench(ctx context.Context, args ...string) (stdout string, benched bool, err error) {
	var out, errs bytes.Buffer
	c := bench.NewSet().Command()
	c.Flags = append(c.Flags, &cli.StringFlag{Name: "docs"}, &cli.IntFlag{Name: "frame-hz"})
	c.Action = func(context.Context, *cli.Command) error { benched = true; return nil }
	c.Writer, c.ErrWriter = &out, &errs
	c.ExitErrHandler = func(context.Context, *cli.Command, error) {}
	err = Command(c, "").Run(ctx, append([]string{"bench"}, args...))
	return out.String(), benched, err
}

func TestArguments(t *testing.T) {
	if _, benched, err := runBench(t.Context(), "-full"); !benched || err != nil {
		t.Errorf("without -type: %v, %v", benched, err)
	}
	for want, args := range map[string][]string{
		"-type needs -docs":                     {"-type", "a/b.C"},
		"-frame-hz has no meaning with -type":   {"-type", "a/b.C", "-docs", "x", "-frame-hz", "3"},
		"unknown argument \"more\"":             {"-type", "a/b.C", "-docs", "x", "more"},
		"a type is the import path":             {"-type", "a/b", "-docs", "x"},
		"-type a.b/c: a type is the import":     {"-type", "a.b/c", "-docs", "x"},
		"-type a/b.c: a type is the import":     {"-type", "a/b.c", "-docs", "x"},
		"-type a/b.C;x: a type is the import":   {"-type", "a/b.C;x", "-docs", "x"},
		"-type example.com/none.Order: go list": {"-type", "example.com/none.Order", "-docs", "x"},
	} {
		if want == "-type example.com/none.Order: go list" {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("go.mod", []byte("module example.com/orders\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, benched, err := runBench(t.Context(), args...); benched || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	c := &cli.Command{Flags: bench.NewSet().Command().Flags, Action: func(_ context.Context, c *cli.Command) error {
		args, err := arguments(c)
		if want := []string{"-full=true", "-count=3", "-mintime=20ms", "-docs=*.pb"}; err != nil || !slices.Equal(args, want) {
			t.Errorf("%q, %v; want %q", args, err, want)
		}
		return nil
	}}
	c.Flags = append(c.Flags, &cli.StringFlag{Name: "docs"})
	if err := c.Run(t.Context(), []string{"bench", "-count", "3", "-full", "-docs", "*.pb", "-mintime", "20ms"}); err != nil {
		t.Error(err)
	}
}

// TestWithFreehold compares copies of go.mod files, whatever the order of their words.
func TestWithFreehold(t *testing.T) {
	const user = "module example.com/orders\n\ngo 1.22\n\nrequire example.com/pb v1.2.3\n\nreplace example.com/pb => ../pb\n"
	dir := filepath.FromSlash("/src")
	for want, c := range map[string]struct{ gomod, release, checkout string }{
		"module example.com/orders\n\ngo 1.26.0\n\nrequire example.com/pb v1.2.3\n\nreplace example.com/pb => ../pb\n\nrequire github.com/freehold-go/freehold/cmd v0.3.0\n": {
			user, "v0.3.0", ""},
		"go 1.27\n\nreplace github.com/freehold-go/freehold => " + dir + "\n\nreplace github.com/freehold-go/freehold/cmd => " + filepath.Join(dir, "cmd") +
			"\n\nreplace github.com/freehold-go/freehold/adapters/arenaproto => " + filepath.Join(dir, "adapters", "arenaproto") +
			"\n\nrequire github.com/freehold-go/freehold/cmd v0.0.0\n": {"go 1.27\n", "v0.3.0", dir},
	} {
		got, err := withFreehold([]byte(c.gomod), c.release, c.checkout)
		words := func(text string) []string {
			w := strings.Fields(text)
			w = slices.DeleteFunc(w, func(w string) bool { return w == "require" || w == "(" || w == ")" })
			slices.Sort(w)
			return w
		}
		if err != nil || !slices.Equal(words(string(got)), words(want)) {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want)
		}
	}
}

// TestProgram builds and runs the program for a type.
func TestProgram(t *testing.T) {
	if testing.Short() || os.Getenv("FREEHOLD_TEST_OUTSIDE") == "" {
		t.Skip("it builds a program with modules from the network: set FREEHOLD_TEST_OUTSIDE=1")
	}
	s, err := structpb.NewStruct(map[string]any{"a": 1, "b": []any{"text", nil, true}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(source(), "cmd", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"go.mod":            "module example.com/orders\n\ngo 1.24\n\nrequire google.golang.org/protobuf v1.36.6\n",
		"go.sum":            string(sums),
		"internal/pb/pb.go": "package pb\n\nimport \"google.golang.org/protobuf/types/known/structpb\"\n\ntype Order = structpb.Struct\n\ntype None int\n",
		"one.pb":            string(b),
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	stdout, _, err := runBench(t.Context(), "-type", "./internal/pb.Order", "-docs", "*.pb", "-count", "1", "-mintime", "1ms", "-json")
	if err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	rows := 0
	for d := json.NewDecoder(strings.NewReader(stdout)); d.More(); rows++ {
		var r bench.Row
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%v\n%s", err, stdout)
		} else if r.Error != "" || r.Passes != 1 || r.Input != "one" {
			t.Errorf("%+v", r)
		}
	}
	if rows < 7 {
		t.Errorf("%d rows", rows)
	}
	if _, _, err := runBench(t.Context(), "-type", "./internal/pb.None", "-docs", "*.pb"); err == nil || !strings.Contains(err.Error(), "proto.Message") {
		t.Errorf("a type that is no message: %v", err)
	}
	if after, err := os.ReadFile("go.mod"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("go.mod changed: %v\n%s", err, after)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 4 {
		t.Errorf("files were left: %v, %v", left, err)
	}
}
