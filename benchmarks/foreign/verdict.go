package main

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/doctor/collect"
)

// verdict is the part of the doctor's JSON that is judged. Rows of settings may be missing.
type verdict struct {
	Verdict  string           `json:"verdict"`
	GCShare  float64          `json:"gc_cpu_share"`
	Findings []doctor.Finding `json:"findings"`
	Settings []settingRow     `json:"settings"`
}

// settingRow is what the doctor predicts of a setting.
type settingRow struct {
	GOGC   float64 `json:"gogc"`         // percent
	Limit  float64 `json:"memory_limit"` // bytes, 0 for none
	Gain   float64 `json:"gain"`         // share of the CPU time
	Error  float64 `json:"error"`        // of the gain, to both sides
	Memory float64 `json:"memory_bytes"` // that the program takes then
}

// diagnose has the doctor read what a run kept, as freehold doctor FOLDER does.
func diagnose(ctx context.Context, dir string) (*verdict, error) {
	e, err := collect.From(ctx, []string{filepath.Join(dir, "profiles")}, nil, collect.Options{})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(doctor.Diagnose(e))
	if err != nil {
		return nil, err
	}
	v := new(verdict)
	return v, json.Unmarshal(text, v)
}
