// Package proof has the parts that the commands accuracy and foreign share: where the module lies,
// the environment of a run, kept files, and bars.
package proof

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ModuleRoot is the folder of the module benchmarks, from any folder in it.
func ModuleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	root := filepath.Dir(strings.TrimSpace(string(out)))
	if _, err := os.Stat(filepath.Join(root, "samples", "load")); err != nil {
		return "", errors.New("no samples here: run it in the folder benchmarks of freehold's repository")
	}
	return root, nil
}

// Clean drops from an environment what changes Go's runtime or freehold.
func Clean(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "FREEHOLD"}, name)
	})
}

// ReadJSON reads a kept file.
func ReadJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

// WriteJSON keeps a file.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o666)
}

// A Bar is a demand, and whether it is met.
type Bar struct {
	Demand, Got string
	Met         bool
}

// NewBar returns a bar.
func NewBar(demand, got string, met bool) Bar { return Bar{demand, got, met} }

// WriteBars writes bars as a Markdown table.
func WriteBars(w io.Writer, bars []Bar) {
	fmt.Fprintln(w, "| bar | reached | |\n|---|---|---|")
	for _, b := range bars {
		mark := "**missed**"
		if b.Met {
			mark = "met"
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", b.Demand, b.Got, mark)
	}
}

// Of is "n of all" and the names of those that are not among the n.
func Of(n, all int, not []string) string {
	s := fmt.Sprintf("%d of %d", n, all)
	if len(not) > 0 {
		s += "; not " + strings.Join(not, ", ")
	}
	return s
}

// Outcomes judges programs, and says whether one of them was not run.
func Outcomes[P, O any](programs []P, name func(P) string, judge func(P) (O, error)) (outcomes []O, missing bool, err error) {
	for _, p := range programs {
		out, err := judge(p)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "%s: was not run\n", name(p))
			missing = true
			continue
		}
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", name(p), err)
		}
		outcomes = append(outcomes, out)
	}
	return outcomes, missing, nil
}

// Publish prints tables, writes the short form of them between the marks of a page if doc names one, and
// reports whether a bar is missed.
func Publish(tables, short string, bars []Bar, marks Marks, doc string) (missed bool, err error) {
	fmt.Print(tables)
	if doc != "" {
		err = marks.Insert(doc, short)
	}
	return slices.ContainsFunc(bars, func(b Bar) bool { return !b.Met }), err
}

// Marks are the lines of a page that tables stand between.
type Marks struct{ Begin, End string }

// Insert replaces the text between the marks of a page.
func (m Marks) Insert(path, tables string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(page), m.Begin)
	_, tail, ok2 := strings.Cut(rest, m.End)
	if !ok || !ok2 {
		return fmt.Errorf("%s: the lines %q and %q are missing, between which the tables go", path, strings.TrimSpace(m.Begin), strings.TrimSpace(m.End))
	}
	return os.WriteFile(path, []byte(head+m.Begin+"\n"+tables+"\n"+m.End+tail), 0o666)
}
