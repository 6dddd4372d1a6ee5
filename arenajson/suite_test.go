// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// TestOutsideSuite decodes the 318 files of JSONTestSuite (Nicolas Seriot), good, bad and doubtful ones, as encoding/json
// does. A module of another project contains them.
func TestOutsideSuite(t *testing.T) {
	if os.Getenv("FREEHOLD_TEST_OUTSIDE") == "" {
		t.Skip("it downloads JSONTestSuite: run make jsoncheck")
	}
	testenv.StartsPrograms(t)
	cmd := exec.Command("go", "mod", "download", "-json", "github.com/aws/smithy-go@v1.28.1")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if json.Unmarshal(out, &module); err != nil || module.Dir == "" {
		t.Fatalf("the module cannot be downloaded: %v %s", err, module.Error)
	}
	files, _ := filepath.Glob(filepath.Join(module.Dir, "transport/http/protocol/internal/json/testdata/test_parsing/*.json"))
	if len(files) != 318 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, fill := range samples() {
			same(t, doc, fill)
		}
		var raw json.RawMessage
		v, err := Parse(nil, doc)
		if d := errorsDiffer(err, json.Unmarshal(doc, &raw)); d != "" {
			t.Errorf("%s: %s", filepath.Base(file), d)
		}
		if err == nil && !json.Valid(v.AppendJSON(nil)) {
			t.Errorf("%s: as JSON again %s", filepath.Base(file), v)
		}
		if t.Failed() {
			t.Fatalf("%s: %q", filepath.Base(file), bytes.ToValidUTF8(doc, []byte("?")))
		}
	}
}
