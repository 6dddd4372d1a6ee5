// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/freehold-go/freehold/sink"
	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/internal/field"
	"github.com/freehold-go/freehold/sink/internal/secure"
	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/schema"
)

// messageType makes the tables of the message that all values are, or nil if they are none, or if the registry has their types.
func messageType(c config.Values) (*protobuf.Type, error) {
	if c.Descriptors == "" {
		return nil, nil
	}
	descriptors, err := os.ReadFile(c.Descriptors)
	if err != nil {
		return nil, fmt.Errorf("values.descriptors_file: %w", err)
	}
	set, err := protobuf.Parse(descriptors, protobuf.Options{ProtoNames: c.ProtoNames})
	if err != nil {
		return nil, fmt.Errorf("values.descriptors_file: %s: %w", c.Descriptors, err)
	}
	t, err := set.Type(c.Message)
	if err != nil {
		return nil, fmt.Errorf("values.message: %w", err)
	}
	return t, nil
}

// checkPaths looks for paths in the configuration that no message of the type has.
func checkPaths(c config.Objects, t *protobuf.Type) error {
	if t == nil {
		return nil
	}
	var wrong []error
	check := func(key, text, unit, column string) {
		path, err := field.ParsePath(text)
		if err != nil { // Its user says so.
			return
		}
		kind, list, err := t.CheckPath(path, unit)
		if err == nil && (unit != "" || takes(column, kind, list)) {
			return
		}
		if err == nil {
			err = fmt.Errorf("the field %s has no values that fit: it is %s", text, describeKind(kind, list))
		}
		wrong = append(wrong, fmt.Errorf("%s: %w", key, err))
	}
	for i, p := range c.PartitionBy {
		key := fmt.Sprintf("objects.partition_by[%d]", i)
		if p.Field != "" {
			check(key, p.Field, "", "")
		}
		if p.Time != "" && p.Time != "$timestamp" {
			check(key, p.Time, cmp.Or(p.Unit, "ms"), "")
		}
	}
	for _, column := range c.Format.Columns {
		switch path, ok := strings.CutPrefix(column, "value."); {
		case c.Format.Name == "csv" && ok:
			check("objects.format.columns", path, "", "json")
		case c.Format.Name == "parquet":
			path, kind, _ := strings.Cut(column, ":")
			check("objects.format.columns", path, "", cmp.Or(kind, "string"))
		}
	}
	return errors.Join(wrong...)
}

// takes reports whether fields of a kind may have values for a column of Parquet of a type. The type "json" takes all, and the type "" is that of a group.
func takes(column string, k protobuf.Kind, list bool) bool {
	number := k >= protobuf.Int32 && k <= protobuf.Double
	switch {
	case column == "json" || k == protobuf.JSON && !list:
		return true
	case list || k == protobuf.Message || k == protobuf.Map:
		return false
	case column == "string":
		return k == protobuf.Text || k == protobuf.Bytes || k == protobuf.Timestamp
	case column == "bool":
		return k == protobuf.Bool
	case column == "int64" || column == "double" || column == "timestamp":
		return number || k == protobuf.Text // A text may be a number.
	}
	return true
}

// describeKind says what values of a kind are.
func describeKind(k protobuf.Kind, list bool) string {
	kinds := map[protobuf.Kind]string{protobuf.Message: "an object or array", protobuf.Map: "a map", protobuf.Bool: "a bool", protobuf.Text: "text", protobuf.Bytes: "bytes", protobuf.Timestamp: "a google.protobuf.Timestamp, which is text"}
	if list {
		return "a list"
	}
	return cmp.Or(kinds[k], "a number")
}

// registry makes the client of the schema registry, or nil if there is none.
func registry(v config.Values, asked func(schema.Attempt)) (*schema.Registry, error) {
	c := v.Registry
	if len(c.URL) == 0 {
		return nil, nil
	}
	var messages *protobuf.Options
	if v.Type == "protobuf" && v.Descriptors == "" {
		messages = &protobuf.Options{ProtoNames: v.ProtoNames}
	}
	r, err := schema.NewRegistry(schema.RegistryOptions{
		Messages: messages,
		URLs:     c.URL, User: c.User, PasswordFile: c.PasswordFile, PasswordEnv: c.PasswordEnv, TokenFile: c.TokenFile,
		TLS:      secure.TLS{CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, ServerName: c.ServerName, SkipVerify: c.SkipVerify},
		RetryFor: time.Duration(c.RetryFor), OnAttempt: asked,
	})
	if err != nil {
		return nil, fmt.Errorf("values.registry: %w", err)
	}
	return r, nil
}

// values makes what prepares values, or nil if they stay as they are.
func values(c config.Values, t *protobuf.Type, r *schema.Registry) (sink.Values, error) {
	framing := schema.NoFraming
	if c.Framing != "none" {
		framing = schema.Framing(c.Framing)
	} else if t == nil {
		return nil, nil
	}
	return schema.New(schema.Options{Framing: framing, Registry: r, Type: t, Messages: c.Type == "protobuf" && t == nil})
}

// describeValues says what is done with values, or nothing if they stay as they are.
func describeValues(conf config.Config) string {
	var parts []string
	c := conf.Values
	if c.Type == "protobuf" {
		source := "the schemas of the registry"
		if c.Descriptors != "" {
			source = c.Message + " in " + c.Descriptors
		}
		parts = append(parts, "messages of Protocol Buffers by "+source)
	}
	switch c.Framing {
	case "strip":
		parts = append(parts, "with the framing of a schema registry, which is taken off")
	case "keep":
		text := "with the framing of a schema registry, which stays where values are stored whole"
		if conf.Objects.Format.Name == "lines" {
			text += "; ids such as 10 have a line feed in it, and length-prefixed objects can have these"
		}
		parts = append(parts, text)
	}
	if len(c.Registry.URL) > 0 {
		parts = append(parts, "ids are looked up at "+strings.Join(c.Registry.URL, ", "))
	}
	return strings.Join(parts, "; ")
}

// asked notes an attempt to fetch a schema.
func (s *Service) asked(a schema.Attempt) {
	result := "ok"
	switch {
	case a.Unknown:
		result = "unknown"
		s.log.Warn("the schema registry has no schema with the id of a record", "id", a.ID, "attempt", a.N, "wait", a.Wait, "error", a.Err)
	case a.Err != nil:
		result = "failed"
		s.log.Warn("the schema registry did not answer; records wait for it", "id", a.ID, "attempt", a.N, "wait", a.Wait, "error", a.Err)
	}
	s.metrics.asked.WithLabelValues(result).Observe(a.Took.Seconds())
}
