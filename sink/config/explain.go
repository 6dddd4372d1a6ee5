// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is a key of a file with its value.
type place struct {
	section, key string // section is "" at the top, "objects.partition_by[0]" in a list
	line         int    // of the key
	value        *yaml.Node
}

func (p place) path() string { return strings.TrimPrefix(p.section+"."+p.key, ".") }

// places returns the keys of a file in their order. A file that is no YAML has none.
func places(text []byte) (all []place) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	var walk func(n *yaml.Node, section string)
	walk = func(n *yaml.Node, section string) {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				p := place{section, n.Content[i].Value, n.Content[i].Line, n.Content[i+1]}
				all = append(all, p)
				walk(p.value, p.path())
			}
		case yaml.SequenceNode:
			for i, element := range n.Content {
				name := fmt.Sprintf("%s[%d]", section, i)
				if element.Kind == yaml.ScalarNode {
					all = append(all, place{"", name, element.Line, element})
				}
				walk(element, name)
			}
		}
	}
	walk(doc.Content[0], "")
	return all
}

// explain puts keys in front of the decoder's errors, and replaces its words that name types of Go.
func explain(err error, keys []place) error {
	texts := []string{err.Error()}
	var wrong *yaml.TypeError
	if errors.As(err, &wrong) {
		texts = wrong.Errors
	}
	for i, text := range texts {
		switch line, rest := splitLine(strings.TrimPrefix(text, "yaml: ")); {
		case strings.Contains(rest, tabs):
			texts[i] = line + "a line begins with a tab; YAML takes spaces for the indent"
		case unknownKey.MatchString(rest):
			texts[i] = line + explainKey(keys, line, unknownKey.FindStringSubmatch(rest)[1])
		case wrongType.MatchString(rest):
			texts[i] = line + explainType(keys, line, wrongType.FindStringSubmatch(rest))
		default:
			for _, p := range keys {
				if p.value.Line == number(line) && strings.HasPrefix(rest, strconv.Quote(p.value.Value)) {
					texts[i] = line + p.path() + ": " + rest
					break
				}
			}
		}
	}
	return errors.New(strings.Join(texts, "\n"))
}

var (
	unknownKey = regexp.MustCompile(`^field (\S+) not found in type \S+`)
	wrongType  = regexp.MustCompile("^cannot unmarshal !!(\\S+)(?: `(.*)`)? into (\\S+)$")
	lineNumber = regexp.MustCompile(`^line (\d+): `)
)

// tabs is what the decoder says of a tab in the indent.
const tabs = "found character that cannot start any token"

// What the decoder calls kinds of values and types, in plain words.
var (
	kinds  = map[string]string{"map": "a section with keys", "seq": "a list", "str": "the text", "int": "the number", "float": "the number", "bool": "the value", "null": "no value", "timestamp": "the time"}
	wanted = map[string]string{"string": "a text", "bool": "true or false", "int": "a whole number", "int64": "a whole number", "[]string": "a list, [a, b]", "[]config.Partition": "a list of sections"}
)

// splitLine separates "line 3: " from the rest of a message.
func splitLine(text string) (line, rest string) {
	line = lineNumber.FindString(text)
	return line, text[len(line):]
}

func number(line string) int {
	if part := lineNumber.FindStringSubmatch(line); part != nil {
		n, _ := strconv.Atoi(part[1])
		return n
	}
	return 0
}

// explainType describes a value of the wrong kind. The decoder cuts values, so they come from the
// file.
func explainType(keys []place, line string, part []string) string {
	is, key := kinds[part[1]], "the key"
	value := part[2]
	for _, p := range keys {
		t := typeOf(p.path())
		if p.value.Line == number(line) && t != nil && t.String() == part[3] && p.value.ShortTag() == "!!"+part[1] && strings.HasPrefix(p.value.Value, strings.TrimSuffix(part[2], "...")) {
			key, value = p.path(), p.value.Value
			break
		}
	}
	if value != "" {
		is += " " + value
	}
	wants := wanted[part[3]]
	if wants == "" {
		wants = "a section with keys"
	}
	return fmt.Sprintf("here is %s, but %s takes %s", is, key, wants)
}

// explainKey describes a key that is not known, and names the one that may be meant: the most
// similar one of the section, or one of that name elsewhere.
func explainKey(keys []place, line, name string) string {
	i := slices.IndexFunc(keys, func(p place) bool { return p.line == number(line) && p.key == name })
	if i < 0 {
		return fmt.Sprintf("%s is not a key of this section; freehold-sink config lists all keys", name)
	}
	section := keys[i].section
	text := fmt.Sprintf("%s is not a key of %s", name, section)
	if section == "" {
		text = fmt.Sprintf("%s is not a key of a configuration", name)
	}
	best, least := "", 1+len(name)/3
	for _, known := range keysOf(section) {
		if d := distance(name, known); d <= least {
			best, least = known, d-1
		}
	}
	if best == "" {
		walk(reflect.ValueOf(Default()), "", func(path string, _ reflect.StructField, _ reflect.Value) {
			if strings.HasSuffix(path, "."+name) && best == "" {
				best = path
			}
		})
	}
	if best != "" {
		return text + "; did you mean " + best + "?"
	}
	return text + "; freehold-sink config lists all keys"
}

// keysOf lists the keys of a section.
func keysOf(section string) (names []string) {
	if t := typeOf(section); t != nil && t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			names = append(names, t.Field(i).Tag.Get("yaml"))
		}
	}
	return names
}

// typeOf is the type of a key: "", "kafka.tls" or "objects.partition_by[0].field". It is nil for a
// key that is not known.
func typeOf(path string) reflect.Type {
	t := reflect.TypeFor[Config]()
	if path == "" {
		return t
	}
	for part := range strings.SplitSeq(path, ".") {
		name, _, element := strings.Cut(part, "[")
		if t.Kind() != reflect.Struct {
			return nil
		}
		i := 0
		for i < t.NumField() && t.Field(i).Tag.Get("yaml") != name {
			i++
		}
		if i == t.NumField() {
			return nil
		}
		if t = t.Field(i).Type; element && t.Kind() == reflect.Slice {
			t = t.Elem()
		}
	}
	return t
}

// distance is the number of letters to change, insert or delete to make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
