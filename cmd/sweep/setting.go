// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"fmt"
	"strconv"
	"strings"
)

// A Setting is what the environment tells Go's collector.
type Setting struct {
	// GOGC is a percentage or "off", and GOMEMLIMIT a limit as Go reads it, or empty.
	GOGC       string `json:"gogc"`
	GOMEMLIMIT string `json:"gomemlimit"`
}

// percentages are the values of GOGC that the usual settings have. The first is Go's default, with which the others are compared.
var percentages = []string{"100", "50", "200", "400", "800"}

// ParseSettings reads settings, one for each text: "GOGC=200", "GOGC=off GOMEMLIMIT=1GiB".
func ParseSettings(texts []string) ([]Setting, error) {
	var list []Setting
	for _, text := range texts {
		s := Setting{}
		for _, word := range strings.Fields(text) {
			name, value, _ := strings.Cut(word, "=")
			switch {
			case name == "GOGC" && isPercentage(value):
				s.GOGC = value
			case name == "GOMEMLIMIT" && value != "":
				s.GOMEMLIMIT = value
			default:
				return nil, fmt.Errorf("sweep: -settings %q: want GOGC=N, GOMEMLIMIT=N or both, separated by a space, in each", text)
			}
		}
		if s == (Setting{}) {
			return nil, fmt.Errorf("sweep: -settings has an empty setting")
		}
		list = append(list, s)
	}
	return list, nil
}

func isPercentage(s string) bool {
	n, err := strconv.Atoi(s)
	return s == "off" || err == nil && n >= 0
}

// String writes the setting as it stands in front of a command.
func (s Setting) String() string { return strings.Join(s.Environment(), " ") }

// Environment are the setting's variables.
func (s Setting) Environment() (env []string) {
	if s.GOGC != "" {
		env = append(env, "GOGC="+s.GOGC)
	}
	if s.GOMEMLIMIT != "" {
		env = append(env, "GOMEMLIMIT="+s.GOMEMLIMIT)
	}
	return env
}

// all is the environment of a run: what the setting leaves out is Go's default, whatever this process's environment has.
func (s Setting) all() []string {
	env := []string{"GOGC=" + s.GOGC, "GOMEMLIMIT=" + s.GOMEMLIMIT}
	if s.GOGC == "" {
		env[0] = "GOGC=100"
	}
	if s.GOMEMLIMIT == "" {
		env[1] = "GOMEMLIMIT=off"
	}
	return env
}

// limits are the settings without a percentage: the collector runs when memory reaches the limit. They follow from the memory that the
// program takes with GOGC=100: as much, and twice as much.
func limits(peak float64) []Setting {
	if peak == 0 {
		return nil
	}
	const least = 16 << 20
	one := max(peak, least)
	return []Setting{{"off", roundedLimit(one)}, {"off", roundedLimit(2 * one)}}
}

// roundedLimit writes a limit in whole MiB, in two digits or so.
func roundedLimit(bytes float64) string {
	mib := int(bytes/(1<<20)) + 1
	step := 1
	for mib/step >= 100 {
		step *= 10
	}
	return strconv.Itoa((mib+step-1)/step*step) + "MiB"
}

// paste are the lines that put the setting to use.
func (s Setting) paste(command string) [][2]string {
	var docker, kubernetes []string
	for _, e := range s.Environment() {
		name, value, _ := strings.Cut(e, "=")
		docker = append(docker, name+"="+value)
		kubernetes = append(kubernetes, fmt.Sprintf("{name: %s, value: %q}", name, value))
	}
	return [][2]string{
		{"shell", s.String() + " " + command},
		{"Dockerfile", "ENV " + strings.Join(docker, " ")},
		{"Kubernetes", "env: [" + strings.Join(kubernetes, ", ") + "]"},
		{"gctune", s.gctune()},
	}
}

// gctune is the policy of package gctune that comes nearest.
func (s Setting) gctune() string {
	n, err := strconv.Atoi(s.GOGC)
	switch {
	case err == nil && n < 100:
		return "gctune.Start(ctx, gctune.Options{Policy: gctune.Small})"
	case err != nil || n > 400:
		return "gctune.Start(ctx, gctune.Options{Policy: gctune.Throughput})"
	}
	return `import _ "github.com/freehold-go/freehold/gctune/auto"`
}

// ParseMemory reads a number of bytes with a unit, such as 2GiB.
func ParseMemory(text string) (int64, error) {
	units := map[string]float64{"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40, "KB": 1e3, "MB": 1e6, "GB": 1e9}
	at := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if at < 0 {
		at = len(text)
	}
	n, err := strconv.ParseFloat(text[:at], 64)
	unit, ok := units[strings.ToUpper(strings.TrimSpace(text[at:]))]
	if err != nil || !ok || n <= 0 || n*unit > 1<<60 {
		return 0, fmt.Errorf("%q is no amount of memory; write it like 512MiB or 2GiB", text)
	}
	return int64(n * unit), nil
}
