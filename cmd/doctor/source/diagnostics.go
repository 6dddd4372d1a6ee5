// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// parseEscapes reads the compiler's output, which is of one package: a folder for it, and in it a
// file for each source file. The files may have hundreds of megabytes, nearly all of which are flows
// through inlined calls. Of these only the ends are kept.
func (s *Module) parseEscapes(ctx context.Context, dir string) (map[string][]escape, error) {
	found := map[string][]escape{}
	names, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = s.parseFile(ctx, f, found)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("the compiler's -json output: %w", err)
		}
	}
	return found, err
}

// maxDiagnostic is the length of the longest line that is read.
const maxDiagnostic = 16 << 20

// parseFile adds the escapes of a file of the compiler's output. The first line names the source
// file.
func (s *Module) parseFile(ctx context.Context, r io.Reader, found map[string][]escape) error {
	var file struct{ File string }
	lines := bufio.NewReaderSize(r, 1<<16)
	for first := true; ctx.Err() == nil; first = false {
		line, err := readLine(lines)
		if err != nil || len(line) == 0 {
			return err
		}
		if first {
			err = json.Unmarshal(line, &file)
		} else if bytes.Contains(line, escapeCode) {
			err = s.parseEscape(line, file.File, found)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readLine is the next line, which is valid until the next call; a line that is too long is
// skipped. The line is empty at the end.
func readLine(lines *bufio.Reader) ([]byte, error) {
	var long []byte
	skipped := false
	for {
		part, err := lines.ReadSlice('\n')
		switch {
		case err == nil && skipped:
			skipped = false
			continue
		case err == nil && long == nil:
			return part, nil
		case err == nil:
			return append(long, part...), nil
		case errors.Is(err, io.EOF):
			return nil, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case skipped:
		case len(long)+len(part) > maxDiagnostic:
			long, skipped = nil, true
		default:
			long = append(long, part...)
		}
	}
}

// The parts of a diagnostic, which is one of the language server protocol, lines counted from 1.
// They cannot be in a text, where quotes have a backslash in front.
var (
	escapeCode   = []byte(`"code":"escape"`)
	relatedPart  = []byte(`,"relatedInformation":[`)
	locationPart = []byte(`{"location":`)
	messagePart  = []byte(`,"message":"`)
	spillEnd     = []byte(" (spill)")
	inlineText   = "inlineLoc"
)

type location struct {
	URI   string
	Range struct{ Start struct{ Line int } }
}

// parseEscape adds the escape of a line of the compiler's output. It reads the head as JSON, and
// searches the related places as bytes: they are nearly all of the line, and only the first and the
// last ones count.
func (s *Module) parseEscape(line []byte, file string, found map[string][]escape) error {
	head, related, cut := bytes.Cut(line, relatedPart)
	if cut {
		head = append(bytes.Clone(head), '}')
	}
	var d struct {
		location
		Message string
	}
	if err := json.Unmarshal(head, &d); err != nil {
		return err
	}
	e := escape{What: strings.TrimSuffix(d.Message, " escapes to heap")}
	if e.What == "" {
		return nil // a repetition without text
	}
	flow, inlined := splitRelated(related)
	add := func(file string, line int) {
		if place := s.place(file, line); place != "" {
			found[place] = longest(found[place], e)
		}
	}
	if err := e.follow(flow); err != nil {
		return err
	}
	add(file, d.Range.Start.Line)
	// The compiler reports an allocation in an inlined function at the call. The first related
	// places say where it stands in the source, which is where the profile has it.
	for _, text := range inlined {
		var l location
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		if u, err := url.Parse(l.URI); err == nil {
			add(filepath.FromSlash(u.Path), l.Range.Start.Line)
		}
	}
	return nil
}

// splitRelated splits the related places of a diagnostic: the messages from the first one on that is
// no place of an inlined function, and the places before.
func splitRelated(related []byte) (messages, inlined [][]byte) {
	for {
		_, rest, ok := bytes.Cut(related, locationPart)
		if !ok {
			return messages, inlined
		}
		place, rest, ok := bytes.Cut(rest, messagePart)
		if !ok {
			return messages, inlined
		}
		message := untilQuote(rest)
		related = rest[len(message):]
		switch {
		case string(message) != inlineText:
			messages = append(messages, message)
		case len(messages) == 0:
			inlined = append(inlined, place)
		}
	}
}

// follow sets the number of steps and the reason from the messages of a flow, each of them like
// "escflow:      from return x (return)".
func (e *escape) follow(messages [][]byte) error {
	var last []byte
	for _, m := range messages {
		step, ok := bytes.CutPrefix(m, []byte("escflow:"))
		if step, ok = bytes.CutPrefix(bytes.TrimSpace(step), []byte("from ")); !ok || !bytes.Contains(step, []byte(" (")) {
			continue
		}
		e.Steps++
		if !bytes.HasSuffix(step, spillEnd) {
			last = step
		}
	}
	if last == nil {
		return nil
	}
	return json.Unmarshal(append(append([]byte{'"'}, last...), '"'), &e.Reason)
}

// untilQuote is the text before the next quote that has no backslash in front.
func untilQuote(text []byte) []byte {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i]
		}
	}
	return text
}

// longest adds an escape to those of its line. Of several of one expression it keeps the first with
// the longest flow, which says more: for the function itself the flow ends with "return", for the
// copy inlined into a caller it shows the use of the result.
func longest(list []escape, e escape) []escape {
	for i := range list {
		if list[i].What == e.What {
			if e.Steps > list[i].Steps {
				list[i] = e
			}
			return list
		}
	}
	return append(list, e)
}

// place is the key in Module.escapes of a line of a file, "" if the file is not of the program.
func (s *Module) place(file string, line int) string {
	path := s.folders[filepath.Dir(file)]
	if path == "" {
		return ""
	}
	return fmt.Sprintf("%s/%s:%d", path, filepath.Base(file), line)
}
