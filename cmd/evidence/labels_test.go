// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// labelled is a CPU profile with the labels that tracers set.
func labelled() *profile.Profile {
	f := profiletest.NewFake()
	for i, endpoint := range []string{"/buy", "/list", "/buy", ""} {
		f.Ran("main.work;main.main", int64(100*(i+1)))
		s := f.CPU.Sample[i]
		s.Label = map[string][]string{"service": {"shop"}}
		if endpoint != "" {
			s.Label["trace endpoint"] = []string{endpoint}
		}
	}
	for i := range 1000 {
		f.Ran("main.work;main.main", 1)
		f.CPU.Sample[4+i].Label = map[string][]string{"span id": {fmt.Sprint(i)}}
	}
	return f.CPU
}

// The label that splits the time best comes first, and an identifier last.
func TestLabelKeys(t *testing.T) {
	e := &Evidence{CPU: labelled()}
	want := "[{trace endpoint 2 0.3} {service 1 0.5} {span id 1000 0.5}]"
	if got := fmt.Sprint(e.LabelKeys()); got != want {
		t.Errorf("the labels are %s, want %s", got, want)
	}
	if keys := (&Evidence{}).LabelKeys(); keys != nil {
		t.Errorf("without a CPU profile the labels are %v", keys)
	}
}

func TestChooseLabel(t *testing.T) {
	for text, want := range map[string]Label{
		"trace endpoint": {Key: "trace endpoint"}, "trace endpoint=/buy": {"trace endpoint", "/buy", true}, "service=shop": {"service", "shop", true},
	} {
		e := &Evidence{CPU: labelled()}
		if err := e.ChooseLabel(text); err != nil || e.Label != want || e.Label.String() != text {
			t.Errorf("%q is %+v, written %q, error %v", text, e.Label, e.Label, err)
		}
	}
	bare := labelled()
	for _, s := range bare.Sample {
		s.Label = nil
	}
	for _, c := range []struct {
		cpu        *profile.Profile
		text, want string
	}{
		{nil, "service", `no CPU profile, and heap profiles of Go programs carry no labels; give a CPU profile`},
		{bare, "service", `no labels; the program sets one with pprof.Do`},
		{labelled(), "endpoint", `no label "endpoint"; it has "trace endpoint", "service", "span id"$`},
		{labelled(), "trace endpoint=/sell", `"trace endpoint" has no value "/sell"; it has "/buy", "/list"$`},
		{labelled(), "span id=x", `it has "0", .* and 992 more$`},
	} {
		e := &Evidence{CPU: c.cpu}
		err := e.ChooseLabel(c.text)
		if err == nil || !regexp.MustCompile(c.want).MatchString(err.Error()) || !errors.Is(err, ErrInput) || e.Label != (Label{}) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}
