//go:build !(amd64 || arm64) || go1.28

package bench

// sonicContestants are none: sonic would be encoding/json here.
func sonicContestants(bool) []Contestant { return nil }
