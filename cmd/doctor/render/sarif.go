// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// The types below are the part of SARIF 2.1.0 that the doctor needs, with the names of the
// standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool          `json:"tool"`
	BaseIDs     map[string]baseURI `json:"originalUriBaseIds,omitempty"`
	Results     []sarifResult      `json:"results"`
	Invocations []sarifInvocation  `json:"invocations"`
	Properties  map[string]any     `json:"properties"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name  string      `json:"name"`
	URI   string      `json:"informationUri"`
	Rules []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string       `json:"id"`
	Short sarifMessage `json:"shortDescription"`
	Help  string       `json:"helpUri,omitempty"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID     string          `json:"ruleId"`
	RuleIndex  int             `json:"ruleIndex"`
	Level      string          `json:"level"`
	Message    sarifMessage    `json:"message"`
	Locations  []sarifLocation `json:"locations,omitempty"`
	Related    []sarifLocation `json:"relatedLocations,omitempty"`
	Properties map[string]any  `json:"properties"`
}

type sarifInvocation struct {
	Successful bool `json:"executionSuccessful"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	Message  *sarifMessage  `json:"message,omitempty"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId,omitempty"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type baseURI struct {
	URI string `json:"uri"`
}

// baseID names the root of the program's source in a log.
const baseID = "SRCROOT"

// levels are SARIF's words for severities. Nothing that the doctor finds is an error.
var levels = map[doctor.Severity]string{
	doctor.SeverityHigh: "warning", doctor.SeverityMedium: "warning", doctor.SeverityLow: "note", doctor.SeverityInfo: "note",
}

// SARIF writes the findings for tools that show them beside the source, such as code hosts and
// editors. Root is the folder of the program's source and main the path of its main module, each ""
// if it is not known; files of the module are named relative to its root. A finding stands at its
// owner's line, and its site is related.
func SARIF(w io.Writer, r *doctor.Report, root, main string) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "freehold doctor", URI: "https://github.com/freehold-go/freehold", Rules: []sarifRule{}}},
		Results:     []sarifResult{},
		Invocations: []sarifInvocation{{Successful: true}},
		Properties: map[string]any{
			"verdict": r.Verdict, "confidence": r.Confidence, "gc_cpu_share": r.GCShare, "alloc_cpu_share": r.AllocShare, "winnable_share": r.WinnableShare,
		},
	}
	if root != "" {
		run.BaseIDs = map[string]baseURI{baseID: {fileURI(root) + "/"}}
	}
	index := map[string]int{}
	for i := range r.Findings {
		f := &r.Findings[i]
		n, ok := index[f.ID]
		if !ok {
			n = len(run.Tool.Driver.Rules)
			index[f.ID] = n
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.ID, sarifMessage{f.Title}, f.Remedy.Doc})
		}
		run.Results = append(run.Results, newSarifResult(f, n, module{root, main}))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func newSarifResult(f *doctor.Finding, rule int, m module) sarifResult {
	message := f.Title + "."
	for _, s := range []string{f.Detail, "Gain: " + terminal.PercentError(f.Gain.Best(), f.Gain.Error) + " of CPU.", f.Remedy.Text} {
		if s != "" {
			message += " " + s
		}
	}
	result := sarifResult{
		RuleID: f.ID, RuleIndex: rule, Level: levels[f.Severity], Message: sarifMessage{message},
		Properties: map[string]any{"severity": f.Severity, "cpu_share": f.CPUShare, "gain": f.Gain, "evidence": f.Evidence},
	}
	at, related := f.Owner, f.Site
	if at.File == "" {
		at, related = f.Site, doctor.Site{}
	}
	if at.File != "" {
		result.Locations = []sarifLocation{newSarifLocation(at, m, "")}
	}
	if related.File != "" && related != at {
		result.Related = []sarifLocation{newSarifLocation(related, m, "the allocation")}
	}
	return result
}

// A module is the folder of a program's main module and its path, each "" if it is not known.
type module struct{ root, path string }

// artifact names a file: relative to the module's root if the file is in the module, unchanged
// otherwise. A binary built with -trimpath has the module's path in place of the folder. A
// dependency's path may begin with the module's, but has a version behind it.
func (m module) artifact(file string) sarifArtifact {
	if rel, ok := strings.CutPrefix(filepath.ToSlash(file), m.path+"/"); ok && m.path != "" && !strings.Contains(rel, "@v") {
		return sarifArtifact{fileURI(rel), baseID}
	}
	if m.root != "" {
		if rel, err := filepath.Rel(m.root, file); err == nil && filepath.IsLocal(rel) {
			return sarifArtifact{fileURI(rel), baseID}
		}
	}
	return sarifArtifact{URI: fileURI(file)}
}

func newSarifLocation(s doctor.Site, m module, message string) sarifLocation {
	l := sarifLocation{Physical: sarifPhysical{Artifact: m.artifact(s.File)}}
	if s.Line > 0 { // the standard wants lines from 1 on
		l.Physical.Region = &sarifRegion{s.Line}
	}
	if s.Func != "" {
		l.Logical = []sarifLogical{{s.Func, "function"}}
	}
	if message != "" {
		l.Message = &sarifMessage{message}
	}
	return l
}

// fileURI is the URI of a file. Names that are not absolute, as in profiles of binaries built with
// -trimpath, stay as they are.
func fileURI(file string) string {
	path := filepath.ToSlash(file)
	if !filepath.IsAbs(file) {
		return (&url.URL{Path: path}).EscapedPath()
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a Windows drive
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
