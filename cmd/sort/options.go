// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold"
)

// options is a parsed command line.
type options struct {
	order

	check      byte // 'c', 'C', or 0 for none
	merge      bool
	compress   bool
	output     string // "" is the standard output
	files      []string
	files0From string
	memory     int64 // 0 is sortbuf's default
	dir        string
	parallel   int // 0 is the default
	batch      int // 0 is the default
	help       bool
	version    bool
}

// The arguments that an option takes.
const (
	noArgument = iota
	oneArgument
	maybeArgument // only in the form --name=value
)

// An option is one row of the table of GNU sort's options and of ours.
type option struct {
	name     string
	letter   byte
	argument int
}

var allOptions = []option{
	{"ignore-leading-blanks", 'b', noArgument},
	{"dictionary-order", 'd', noArgument},
	{"ignore-case", 'f', noArgument},
	{"general-numeric-sort", 'g', noArgument},
	{"human-numeric-sort", 'h', noArgument},
	{"ignore-nonprinting", 'i', noArgument},
	{"month-sort", 'M', noArgument},
	{"numeric-sort", 'n', noArgument},
	{"random-sort", 'R', noArgument},
	{"random-source", 0, oneArgument},
	{"reverse", 'r', noArgument},
	{"version-sort", 'V', noArgument},
	{"sort", 0, oneArgument},
	{"key", 'k', oneArgument},
	{"json-key", 0, oneArgument},
	{"field-separator", 't', oneArgument},
	{"stable", 's', noArgument},
	{"unique", 'u', noArgument},
	{"check", 0, maybeArgument},
	{"", 'c', noArgument},
	{"", 'C', noArgument},
	{"merge", 'm', noArgument},
	{"zero-terminated", 'z', noArgument},
	{"output", 'o', oneArgument},
	{"files0-from", 0, oneArgument},
	{"buffer-size", 'S', oneArgument},
	{"temporary-directory", 'T', oneArgument},
	{"parallel", 0, oneArgument},
	{"batch-size", 0, oneArgument},
	{"compress", 0, noArgument},
	{"compress-program", 0, oneArgument},
	{"debug", 0, noArgument},
	{"help", 0, noArgument},
	{"version", 0, noArgument},
}

// usageError is an error for a command line that no option table can read.
type usageError struct{ text string }

func (e usageError) Error() string {
	return e.text + "\nTry 'sort --help' for more information."
}

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// A parser reads a command line. Letters of the global order are collected in global and inherited
// by keys without letters of their own at the end.
type parser struct {
	o      *options
	global letters
	args   []string // not read yet
}

// parse reads the command line behind the command's name. If POSIXLY_CORRECT is set, options end at
// the first file, but for -o, which old versions accepted behind files.
func parse(args []string) (*options, error) {
	p := &parser{o: &options{order: order{eol: '\n', tab: -1}}, args: args}
	_, posix := os.LookupEnv("POSIXLY_CORRECT")
	for len(p.args) > 0 {
		arg := p.args[0]
		p.args = p.args[1:]
		var err error
		switch {
		case posix && len(p.o.files) > 0 && !strings.HasPrefix(arg, "-o"):
			p.o.files = append(p.o.files, arg)
		case arg == "--":
			p.o.files, p.args = append(p.o.files, p.args...), nil
		case strings.HasPrefix(arg, "--"):
			err = p.long(arg[2:])
		case len(arg) > 1 && arg[0] == '-':
			err = p.short(arg[1:])
		case arg != "" && arg[0] == '+':
			err = p.obsoleteKey(arg)
		default:
			p.o.files = append(p.o.files, arg)
		}
		if err != nil {
			return nil, err
		}
		if p.o.help || p.o.version {
			return p.o, nil
		}
	}
	return p.o, p.finish()
}

// long reads an option from behind its two dashes. A name may be shortened as long as it is unique.
func (p *parser) long(arg string) error {
	name, value, hasValue := strings.Cut(arg, "=")
	var found []option
	for _, o := range allOptions {
		if o.name == name && name != "" {
			found = []option{o}
			break
		}
		if o.name != "" && strings.HasPrefix(o.name, name) {
			found = append(found, o)
		}
	}
	switch {
	case len(found) == 0:
		return usagef("unrecognized option '--%s'", arg)
	case len(found) > 1:
		text := fmt.Sprintf("option '--%s' is ambiguous; possibilities:", arg)
		for _, o := range found {
			text += " '--" + o.name + "'"
		}
		return usageError{text}
	}
	o := found[0]
	if hasValue && o.argument == noArgument {
		return usagef("option '--%s' doesn't allow an argument", o.name)
	}
	if !hasValue && o.argument == oneArgument {
		if len(p.args) == 0 {
			return usagef("option '--%s' requires an argument", o.name)
		}
		value, p.args = p.args[0], p.args[1:]
	}
	if o.name == "check" && !hasValue {
		value = "diagnose-first"
	}
	return p.set(o, "--"+o.name, value)
}

// short reads a bundle of letters from behind its dash.
func (p *parser) short(bundle string) error {
	for i := range len(bundle) {
		o, ok := byLetter(bundle[i])
		if !ok {
			return usagef("invalid option -- '%c'", bundle[i])
		}
		value := ""
		if o.argument == oneArgument {
			value = bundle[i+1:]
			if value == "" {
				if len(p.args) == 0 {
					return usagef("option requires an argument -- '%c'", bundle[i])
				}
				value, p.args = p.args[0], p.args[1:]
			}
		}
		if err := p.set(o, "-"+string(o.letter), value); err != nil || o.argument == oneArgument {
			return err
		}
	}
	return nil
}

func byLetter(letter byte) (option, bool) {
	for _, o := range allOptions {
		if o.letter == letter {
			return o, true
		}
	}
	return option{}, false
}

// set carries out one option. As is how messages name it.
func (p *parser) set(o option, as, value string) (err error) {
	switch o.name {
	case "sort":
		var letter byte
		letter, err = oneOf(as, value, map[string]byte{"general-numeric": 'g', "human-numeric": 'h', "month": 'M', "numeric": 'n', "random": 'R', "version": 'V'})
		p.global.set(letter, true, true)
	case "key":
		err = p.key(value)
	case "json-key":
		err = p.jsonKey(value)
	case "field-separator":
		err = p.separator(value)
	case "stable":
		p.o.stable = true
	case "unique":
		p.o.unique = true
	case "check":
		var letter byte
		if letter, err = oneOf(as, value, map[string]byte{"quiet": 'C', "silent": 'C', "diagnose-first": 'c'}); err == nil {
			err = p.check(letter)
		}
	case "":
		err = p.check(o.letter)
	case "merge":
		p.o.merge = true
	case "zero-terminated":
		p.o.eol = 0
	case "output":
		if p.o.output != "" && p.o.output != value {
			return fmt.Errorf("multiple output files specified")
		}
		if p.o.output = value; value == "" {
			return fmt.Errorf("open failed: '': No such file or directory")
		}
	case "files0-from":
		p.o.files0From = value
	case "buffer-size":
		var size int64
		size, err = parseSize(as, value)
		p.o.memory = max(p.o.memory, size)
	case "temporary-directory":
		p.o.dir = cmp.Or(p.o.dir, value)
	case "parallel":
		err = p.parallel(value)
	case "batch-size":
		err = p.batch(value)
	case "compress":
		p.o.compress = true
	case "compress-program":
		return fmt.Errorf("option '--compress-program' is not supported; --compress compresses temporary data with Zstandard")
	case "debug", "random-source":
		return fmt.Errorf("option '--%s' is not supported", o.name)
	case "help":
		p.o.help = true
	case "version":
		p.o.version = true
	default:
		p.global.set(o.letter, true, true)
	}
	return err
}

func (p *parser) check(how byte) error {
	if p.o.check != 0 && p.o.check != how {
		return incompatible("cC")
	}
	p.o.check = how
	return nil
}

// oneOf returns the letter of the word that value abbreviates.
func oneOf(option, value string, letters map[string]byte) (letter byte, err error) {
	if letter, ok := letters[value]; ok {
		return letter, nil
	}
	words := slices.Sorted(maps.Keys(letters))
	found := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, value) })
	switch len(found) {
	case 0:
		return 0, usagef("invalid argument '%s' for '%s'\nValid arguments are: %s", value, option, strings.Join(words, ", "))
	case 1:
		return letters[found[0]], nil
	}
	return 0, usagef("ambiguous argument '%s' for '%s': %s", value, option, strings.Join(found, ", "))
}

// separator reads the argument of -t.
func (p *parser) separator(value string) error {
	switch {
	case value == "":
		return fmt.Errorf("empty tab")
	case value == `\0`:
		value = "\x00"
	case len(value) > 1:
		return fmt.Errorf("multi-character tab '%s'", value)
	}
	if p.o.tab >= 0 && p.o.tab != int(value[0]) {
		return fmt.Errorf("incompatible tabs")
	}
	p.o.tab = int(value[0])
	return nil
}

func (p *parser) parallel(value string) error {
	n, rest, ok := leadingNumber(value)
	if !ok || rest != "" {
		return fmt.Errorf("invalid --parallel argument '%s'", value)
	}
	if n == 0 {
		return fmt.Errorf("number in parallel must be nonzero")
	}
	p.o.parallel = n
	return nil
}

func (p *parser) batch(value string) error {
	n, rest, ok := leadingNumber(value)
	if !ok || rest != "" {
		return fmt.Errorf("invalid --batch-size argument '%s'", value)
	}
	if n < 2 {
		return fmt.Errorf("invalid --batch-size argument '%s'\nsort: minimum --batch-size argument is '2'", value)
	}
	if most := maxOpenFiles() - 3; n > most {
		return fmt.Errorf("--batch-size argument '%s' too large\nsort: maximum --batch-size argument with current rlimit is %d", value, most)
	}
	p.o.batch = n
	return nil
}

// key reads the argument of -k.
func (p *parser) key(spec string) (err error) {
	k := key{endField: -1}
	bad := func(text string) error {
		return fmt.Errorf("%s: invalid field specification '%s'", text, spec)
	}
	rest := ""
	if k.field, rest, err = position(spec, "invalid number at field start"); err != nil {
		return err
	}
	if k.field--; k.field < 0 {
		return bad("field number is zero")
	}
	if strings.HasPrefix(rest, ".") {
		if k.char, rest, err = position(rest[1:], "invalid number after '.'"); err != nil {
			return err
		}
		if k.char--; k.char < 0 {
			return bad("character offset is zero")
		}
	}
	rest = k.setAll(rest, true, false)
	if strings.HasPrefix(rest, ",") {
		if k.endField, rest, err = position(rest[1:], "invalid number after ','"); err != nil {
			return err
		}
		if k.endField--; k.endField < 0 {
			return bad("field number is zero")
		}
		if strings.HasPrefix(rest, ".") {
			if k.endChar, rest, err = position(rest[1:], "invalid number after '.'"); err != nil {
				return err
			}
		}
		rest = k.setAll(rest, false, true)
	}
	if rest != "" {
		return bad("stray character in field spec")
	}
	p.o.keys = append(p.o.keys, k)
	return nil
}

// position reads a number of a key.
func position(s, problem string) (n int, rest string, err error) {
	n, rest, ok := leadingNumber(s)
	if !ok {
		return 0, "", fmt.Errorf("%s: invalid count at start of '%s'", problem, s)
	}
	return n, rest, nil
}

// obsoleteKey reads a key in the form +POS1 [-POS2], which counts from 0, or a file of that name.
// The form has not been in POSIX from 2001 to 2008: with a _POSIX2_VERSION of that time it is read
// only if there is a POS2.
func (p *parser) obsoleteKey(arg string) (err error) {
	hasEnd := len(p.args) > 0 && len(p.args[0]) > 1 && p.args[0][0] == '-' && isDigit(p.args[0][1])
	version, _ := strconv.Atoi(os.Getenv("_POSIX2_VERSION"))
	allowed := version == 0 || version < 200112 || version >= 200809 || hasEnd && os.Getenv("POSIXLY_CORRECT") == ""
	k := key{endField: -1}
	rest, ok := "", false
	if allowed {
		k.field, rest, ok = leadingNumber(arg[1:])
	}
	if ok && strings.HasPrefix(rest, ".") {
		k.char, rest, ok = leadingNumber(rest[1:])
	}
	if !ok || k.setAll(rest, true, false) != "" {
		p.o.files = append(p.o.files, arg)
		return nil
	}
	if hasEnd {
		end := p.args[0]
		p.args = p.args[1:]
		if k.endField, rest, err = position(end[1:], "invalid number after '-'"); err != nil {
			return err
		}
		if strings.HasPrefix(rest, ".") {
			if k.endChar, rest, err = position(rest[1:], "invalid number after '.'"); err != nil {
				return err
			}
		}
		if k.endChar == 0 && k.endField > 0 {
			k.endField-- // the end of the field before
		}
		if k.setAll(rest, false, true) != "" {
			return fmt.Errorf("stray character in field spec: invalid field specification '%s'", end)
		}
	}
	p.o.keys = append(p.o.keys, k)
	return nil
}

// jsonKey reads the argument of --json-key: names of nested objects with points between them, and
// behind a colon the letters of the order.
func (p *parser) jsonKey(spec string) error {
	k := key{endField: -1}
	path := spec
	if at := strings.LastIndexByte(spec, ':'); at >= 0 {
		path = spec[:at]
		if rest := k.setAll(spec[at+1:], true, true); rest != "" {
			return fmt.Errorf("--json-key %s: '%s' is no ordering option; a name with a colon needs one more colon behind it", spec, rest)
		}
	}
	var name []byte
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path): // a point or a backslash in a name
			i++
			name = append(name, path[i])
		case c == '.':
			k.path, name = append(k.path, string(name)), nil
		default:
			name = append(name, c)
		}
	}
	k.path = append(k.path, string(name))
	if path == "" {
		return fmt.Errorf("--json-key %s: there is no name", spec)
	}
	p.o.keys = append(p.o.keys, k)
	return nil
}

// finish checks what only the whole command line shows, and hands the global letters to the keys.
func (p *parser) finish() error {
	o := p.o
	for i := range o.keys {
		if k := &o.keys[i]; k.letters == (letters{}) {
			k.letters = p.global
		}
	}
	if plain := (letters{reverse: p.global.reverse}); len(o.keys) == 0 && p.global != plain {
		o.keys = append(o.keys, key{letters: p.global, endField: -1})
	}
	o.reverse = p.global.reverse
	for i := range o.keys {
		if err := cmp.Or(o.keys[i].compatible(), o.keys[i].supported()); err != nil {
			return err
		}
	}
	if err := p.global.supported(); err != nil {
		return err
	}
	if o.check != 0 && o.output != "" {
		return incompatible(string(o.check) + "o")
	}
	o.prepare()
	return nil
}

// leadingNumber reads the decimal digits at the start of s. A number beyond what an int holds is
// the largest less one, so that it can be incremented. ok is false if there is no digit.
func leadingNumber(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	n, err := strconv.Atoi(s[:i])
	if err != nil && i > 0 {
		n = math.MaxInt - 1
	}
	return n, s[i:], i > 0
}

// parseSize reads the argument of -S: a number and an optional unit, of which KiB is the default.
func parseSize(as, value string) (int64, error) {
	n, unit, ok := leadingNumber(value)
	if !ok {
		if n = 1; len(unit) != 1 || !strings.Contains(sizeUnits, unit) {
			return 0, fmt.Errorf("invalid %s argument '%s'", as, value)
		}
	}
	bytes := float64(n)
	switch {
	case unit == "":
		bytes *= 1024
	case unit == "b":
	case unit == "%":
		memory := machineMemory()
		if memory == 0 {
			return 0, fmt.Errorf("%s argument '%s': this system does not report its memory", as, value)
		}
		bytes *= float64(memory) / 100
	case len(unit) == 1 && strings.Contains(sizeUnits, unit):
		bytes *= math.Pow(1024, float64(strings.Index(sizeUnits, unit)/2+1))
	default:
		return 0, fmt.Errorf("invalid suffix in %s argument '%s'", as, value)
	}
	if bytes >= math.MaxInt64 {
		return 0, fmt.Errorf("%s argument '%s' too large", as, value)
	}
	return max(int64(bytes), 1), nil
}

// machineMemory is the memory of the container, or of the machine, or 0 if the system does not report
// it.
func machineMemory() int64 {
	m := freehold.ReadMachine()
	if m.CgroupVersion == 0 {
		return m.Memory
	}
	return min(m.Memory, m.CgroupLimit)
}

// sizeUnits has each unit of -S in its two spellings, in order; GNU sort accepts small letters only
// for the first four.
const sizeUnits = "KkMmGgTtPPEEZZYYRRQQ"
