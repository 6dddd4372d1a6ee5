// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Write prints a configuration with a comment for each key. Without values that differ from the defaults it is their reference.
func Write(w io.Writer, c Config) error {
	var b strings.Builder
	section(&b, reflect.ValueOf(c), "")
	_, err := io.WriteString(w, b.String())
	return err
}

func section(b *strings.Builder, v reflect.Value, indent string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, doc := f.Tag.Get("yaml"), f.Tag.Get("doc")
		if indent == "" && i > 0 {
			b.WriteByte('\n')
		}
		for _, line := range wrap(doc, 110-len(indent)) {
			fmt.Fprintf(b, "%s# %s\n", indent, line)
		}
		switch {
		case f.Type.Kind() == reflect.Struct:
			fmt.Fprintf(b, "%s%s:\n", indent, name)
			section(b, v.Field(i), indent+"  ")
		case f.Type == reflect.TypeFor[[]Partition]() && v.Field(i).Len() == 0:
			fmt.Fprintf(b, "%s%s: []\n", indent, name)
			b.WriteString(indent + "  # An element of the list has these keys:\n")
			t := reflect.TypeFor[Partition]()
			for j := range t.NumField() {
				fmt.Fprintf(b, "%s  #   %-8s %s\n", indent, t.Field(j).Tag.Get("yaml")+":", t.Field(j).Tag.Get("doc"))
			}
		default:
			text, _ := yaml.Marshal(v.Field(i).Interface())
			value := strings.TrimSuffix(string(text), "\n")
			if strings.Contains(value, "\n") || strings.HasPrefix(value, "- ") {
				fmt.Fprintf(b, "%s%s:\n%s  %s\n", indent, name, indent, strings.ReplaceAll(value, "\n", "\n"+indent+"  "))
				continue
			}
			fmt.Fprintf(b, "%s%s: %s\n", indent, name, value)
		}
	}
}

// wrap divides a text into lines of at most width characters.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
