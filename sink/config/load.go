// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// EnvPrefix begins the names of the variables that override keys: FREEHOLD_SINK_KAFKA_BROKERS is kafka.brokers.
const EnvPrefix = "FREEHOLD_SINK_"

// Load reads a file, and what environ (as os.Environ returns it) overrides. Unknown keys and unknown variables with the prefix are errors. Lists in
// variables are YAML ([a, b]) or have commas between their elements.
func Load(name string, environ []string) (Config, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, fmt.Errorf("%w; -config FILE names another file, and freehold-sink config prints one to begin with", err)
	}
	if err != nil {
		return Config{}, err
	}
	c, err := Parse(text, environ)
	if err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// Parse is Load for the text of a file.
func Parse(text []byte, environ []string) (Config, error) {
	c := Default()
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, explain(err, places(text))
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return c, errors.New("a configuration is one document of YAML, but there is another behind ---")
	}
	return c, override(&c, environ)
}

// override sets the keys that variables of the environment name.
func override(c *Config, environ []string) error {
	fields := map[string]reflect.Value{}
	walk(reflect.ValueOf(c).Elem(), "", func(path string, _ reflect.StructField, v reflect.Value) {
		fields[EnvPrefix+strings.ToUpper(strings.ReplaceAll(path, ".", "_"))] = v
	})
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, EnvPrefix) {
			continue
		}
		v, ok := fields[name]
		if !ok {
			return fmt.Errorf("the variable %s names no key of the configuration; freehold-sink config lists them", name)
		}
		if err := setValue(v, value); err != nil {
			return fmt.Errorf("the variable %s: %s", name, strings.TrimPrefix(explain(err, nil).Error(), "line 1: "))
		}
	}
	return nil
}

func setValue(v reflect.Value, text string) error {
	switch {
	case v.Kind() == reflect.String:
		v.SetString(text)
		return nil
	case v.Type() == reflect.TypeFor[[]string]() && !strings.HasPrefix(text, "["):
		v.Set(reflect.ValueOf(strings.Split(text, ",")))
		return nil
	}
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	return d.Decode(v.Addr().Interface())
}
