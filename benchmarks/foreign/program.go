package main

import (
	"cmp"
	"os/exec"
	"slices"
	"strings"
)

// kind is how a program is started.
type kind string

const (
	library kind = "library" // a driver in programs/ calls load.Main
	service kind = "service" // a driver in programs/ calls load.Serve
	command kind = "command" // the program itself, installed
)

// settings stands in a judgement for the report's rows of settings.
const settings = "settings"

// program is a program of other people under a load, and the judgement of an expert, which was
// written before the doctor saw the program.
type program struct {
	name    string
	driver  string // folder in programs; "" if the folder has the program's name
	module  string
	version string
	kind    kind
	does    string // in one sentence: the work, and under which load
	unseen  bool   // the doctor's code was frozen before the program was looked at

	env      []string   // the environment that the program runs in
	settings [][]string // the environments that it is timed under; nil for GOGC=200, 400 and 800
	command  *installed // for a command

	right   []string    // settings, or ids in docs/findings: any of them may stand first
	why     string      // of right, in one sentence, with the figures that pprof shows
	harmful []rejection // what an expert would not do

	applied *change // the form after; nil if there is none

	// The expert's answer in the two lines of a report: only programs of the examination have it.
	answer answer
	advice advice
	gains  []gain // measured after the answer was written
}

// answer is what wins more than noise in a program.
type answer string

const (
	winsCode    answer = "code"    // a line of the user's code; a setting is the smaller part
	winsSetting answer = "setting" // GOGC or GOMEMLIMIT
	winsBoth    answer = "both"
	winsNothing answer = "nothing" // the cost is not memory
)

// advice is what an expert does first. A neighbouring value of a setting that has nearly the same
// gain is as good.
type advice struct {
	now  string // the environment, such as GOGC=400; "" if no setting wins more than noise
	line string // of the driver, such as main.go:72; "" if no line of the user's code helps
	text string // a part of that line, so that a test finds a line that has moved
	do   string // what to do there
}

// gain is the share of the CPU time for an operation that a form saves, in per cent. The interval
// holds in nine cases of ten.
type gain struct {
	form             string // an environment, or formAfter
	saves, low, high float64
	rounds           int
}

// folder is where the program's driver is, in programs.
func (p program) folder() string { return cmp.Or(p.driver, p.name) }

// rejection is a remedy that an expert rejects for this program.
type rejection struct {
	id     string // of the finding, or settings for a proposed GOGC without a memory limit
	remedy string // a word of the remedy's text, if only that remedy is wrong
	why    string
}

// change is what the form after differs by.
type change struct {
	what    string
	finding string // the id whose gain it realises
	env     []string
	// sameMemory says that the form after runs with a larger GOGC in the memory of the form before:
	// the gain is the one at the same memory.
	sameMemory bool
}

// installed is a command without a driver.
type installed struct {
	pkg     string                              // for go install, without the version; "" if path is set
	path    func() (string, error)              // a program that is there already, such as a tool of Go
	prepare func(dir string) error              // makes the input, in a folder that is kept
	args    func(dir string) []string           // of a timed run, in that folder
	profile func(dir, profiles string) []string // of the run with profiles; it writes names of load.Files
	// exits are the codes of success besides 0: a linter that found something ends with 1.
	exits []int
	// ops is the number of equal operations in a run, such as files; 1 if it is left out.
	ops int
}

// accepts reports whether a command that ended has succeeded.
func (c *installed) accepts(cmd *exec.Cmd) bool {
	return cmd.ProcessState != nil && slices.Contains(c.exits, cmd.ProcessState.ExitCode())
}

// standardSettings are the environments that most programs are timed under, beside their own.
var standardSettings = [][]string{{"GOGC=200"}, {"GOGC=400"}, {"GOGC=800"}}

func (p program) variants() [][]string {
	if p.settings != nil {
		return p.settings
	}
	return standardSettings
}

// Names of forms beside those of settings, which are their environment.
const (
	formBase  = "base"
	formAfter = "after"
)

// form is a way to run a program.
type form struct {
	name  string
	env   []string
	after bool
}

// forms are those of a round.
func (p program) forms() []form {
	all := []form{{name: formBase, env: p.env}}
	for _, env := range p.variants() {
		all = append(all, form{name: strings.Join(env, " "), env: append(append([]string(nil), p.env...), env...)})
	}
	if p.applied != nil {
		all = append(all, form{name: formAfter, env: append(append([]string(nil), p.env...), p.applied.env...), after: true})
	}
	return all
}
