// SPDX-License-Identifier: Apache-2.0

package doctor

// A recogniser knows one pattern. It sees the account alone, and returns findings with figures,
// gain and remedy. Diagnose adds the title, the severity and the link to the page of the finding.
//
// Recognisers run in the order of the table. A finding claims its sites: site.claimed then names
// the recogniser, and later recognisers skip the site. So a site gets only the most specific
// remedy.
type recogniser struct {
	id, title string
	find      func(*account) []Finding
}

// Thresholds that all recognisers share, as shares of the program's CPU time.
const (
	// minGain is the least gain that is worth a line: one percent is what a careful comparison can
	// still measure.
	minGain = 0.01
	// mediumGain is the gain from which on a finding's severity is medium.
	mediumGain = 0.03
	// highGain is the gain from which on a finding's severity is high.
	highGain = 0.10
)

// docBase is where the pages of the findings are.
const docBase = "https://github.com/freehold-go/freehold/blob/main/docs/findings/"

// severityOf is the severity of a gain.
func severityOf(g Gain) Severity {
	switch best := g.Best(); {
	case best >= highGain:
		return SeverityHigh
	case best >= mediumGain:
		return SeverityMedium
	case best >= minGain:
		return SeverityLow
	}
	return SeverityInfo
}
