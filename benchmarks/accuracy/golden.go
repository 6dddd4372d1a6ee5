package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"
)

// maxGolden is how many bytes all golden profiles may take together.
const maxGolden = 1_500_000

// goldens writes the profiles of the first program of each finding, under the finding's id, for the
// tests of the doctor.
func (h *harness) goldens() error {
	seen := map[string]bool{"": true}
	size := int64(0)
	for _, p := range selected(h.run) {
		if seen[p.finding] {
			continue
		}
		seen[p.finding] = true
		dir := filepath.Join(h.golden, p.finding)
		if _, err := h.child(p, false, dir, 1); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, name := range withMetrics {
			if err := anonymous(filepath.Join(dir, name)); err != nil {
				return err
			}
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			size += info.Size()
		}
		fmt.Printf("%s: %s\n", p.finding, p.name)
	}
	if size > maxGolden {
		return fmt.Errorf("the golden profiles take %d bytes, more than %d: give programs fewer operations", size, maxGolden)
	}
	return nil
}

// anonymous takes out of a profile in which folders of this machine the program lay. The paths of
// its source do not say so: it is built with -trimpath.
func anonymous(path string) error {
	if !strings.HasSuffix(path, ".pb.gz") {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, m := range p.Mapping {
		m.File = filepath.Base(m.File)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, out.Bytes(), 0o666)
}
