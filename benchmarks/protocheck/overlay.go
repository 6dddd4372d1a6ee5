// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is the path of this module.
const module = "github.com/freehold-go/freehold/benchmarks/protocheck"

// An overlay has files that the compiler sees in this module, and that lie in a temporary folder.
type overlay struct {
	dir      string            // The temporary folder.
	files    map[string]string // The file behind each path below this module.
	packages []string          // The generated packages, by their paths below this module.
}

func newOverlay() (*overlay, error) {
	dir, err := os.MkdirTemp("", "protocheck")
	return &overlay{dir: dir, files: map[string]string{}}, err
}

// remove deletes the temporary folder.
func (o *overlay) remove() { _ = os.RemoveAll(o.dir) }

// add adds a file.
func (o *overlay) add(name, text string) error {
	file := filepath.Join(o.dir, fmt.Sprintf("%d.go", len(o.files)))
	o.files[name] = file
	return os.WriteFile(file, []byte(text), 0o600)
}

// build builds the program in the folder of this module, with the generated packages linked in.
func (o *overlay) build(program string) (string, error) {
	var imports strings.Builder
	imports.WriteString("package main\n\nimport (\n")
	for _, p := range o.packages {
		fmt.Fprintf(&imports, "\t_ %q\n", module+"/"+p)
	}
	imports.WriteString(")\n")
	if err := o.add(program+"/generated.go", imports.String()); err != nil {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, file := range o.files {
		replace[filepath.Join(here, name)] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list, binary := filepath.Join(o.dir, "overlay.json"), filepath.Join(o.dir, program)
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-tags", "protolegacy", "-overlay", list, "-o", binary, "./"+program)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return binary, cmd.Run()
}

// downloaded is the folder of a module in the module cache, where go mod download puts it.
func downloaded(mod string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", mod).Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w: %s", mod, err, out)
	}
	var info struct{ Dir string }
	err = json.Unmarshal(out, &info)
	return info.Dir, err
}
