// SPDX-License-Identifier: Apache-2.0

package debugport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Bounds of one answer.
const (
	// AnswerTime is how long an answer may take beyond the window that it covers.
	AnswerTime = 30 * time.Second
	answerSize = 256 << 20 // Bytes. The largest profiles of large programs have some tens of MiB.
)

// Get reads the answer for a path below the base. window is the time that the answer covers, such
// as that of a CPU profile; the answer may take Options.Timeout beyond it.
func (s *Server) Get(ctx context.Context, path string, window time.Duration) ([]byte, error) {
	return s.GetWithin(ctx, path, window+cmp.Or(s.timeout, AnswerTime))
}

// GetWithin is Get with a bound on the whole time.
func (s *Server) GetWithin(ctx context.Context, path string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.String()+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%q is no address; write it like http://localhost:6060", s)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, s.unreachable(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, answerSize+1))
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled): // The user interrupted; the program did not end.
		return nil, s.unreachable(ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("%s%s: the answer broke off: %w; is the program still running?", s, path, cause(err))
	case response.StatusCode != http.StatusOK:
		return nil, s.refused(path, response, data)
	case len(data) > answerSize:
		return nil, fmt.Errorf("%s%s: the answer has more than %d MiB, so it is no profile", s, path, answerSize>>20)
	}
	return data, nil
}

// FirstOf returns the first of the paths whose answer is accepted. If all of them are refused, the
// error has the reason of each; a path that the program does not serve counts only if it serves
// none.
func (s *Server) FirstOf(ctx context.Context, paths []string, accept func(answer []byte) error) (string, error) {
	var missing error
	var refused []string
	for _, path := range paths {
		data, err := s.Get(ctx, path, 0)
		switch {
		case Status(err) == http.StatusNotFound:
			missing = cmp.Or(missing, err)
			continue
		case err != nil:
			return "", err
		}
		if err := accept(data); err != nil {
			refused = append(refused, fmt.Sprintf("%s%s: %v", s, path, err))
			continue
		}
		return path, nil
	}
	if len(refused) > 0 {
		return "", errors.New(strings.Join(refused, "; "))
	}
	if len(paths) > 1 {
		return "", fmt.Errorf("%w; %s is not served either", missing, strings.Join(paths[1:], " and "))
	}
	return "", missing
}
