// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// longLivedID is the id of the finding that the cost of marking long-lived data counts for.
const longLivedID = "long-lived-pointers"

const (
	// longCycles is how many collections an object must live through on average to count as
	// long-lived.
	longCycles = 3
	// pointerFree is the part of bytes with pointers up to which memory counts as pointer-free: the
	// estimate cannot distinguish so small a part from none.
	pointerFree = 0.1
	// moveGain is the least gain for which data is worth moving off the heap, or into another form.
	moveGain = 0.08
	// leastScanned is how many bytes with pointers must be long-lived: a collection reads fewer in
	// about a millisecond.
	leastScanned = 4 << 20
	// leastBallast is how many bytes without pointers must be long-lived: the smallest heap's size.
	leastBallast = 4 << 20
	// ballastPart is the part of the live heap from which memory without pointers decides how often
	// the collector runs.
	ballastPart = 0.2
)

// longLived reports whether the site's memory lives through many collections.
func (a *account) longLived(s *site) bool {
	if s.inuseBytes == 0 {
		return false
	}
	if s.age < 0 {
		return s.inuseBytes > s.allocBytes/2
	}
	between := a.between()
	if between == 0 {
		between = time.Second
	}
	return s.age >= shortLife && s.age >= longCycles*between
}

// keeps is the number of bytes that a site keeps in use. Long-lived sites are grouped by this
// weight.
func keeps(s *site) float64 { return s.inuseBytes }

func findLongLived(a *account) (found []Finding) {
	var sites []*site
	for _, s := range a.sites {
		if s.claimed == "" && a.longLived(s) && !a.ballast(s) {
			sites = append(sites, s)
		}
	}
	if a.window == 0 {
		return nil // A command's last heap profile: nothing shows that earlier collections read this data.
	}
	for _, g := range a.groups(sites, keeps, leastKept*a.live) {
		t := a.sum(g.sites)
		if t.scanned < max(pointerFree*t.inuseBytes, leastScanned) || a.ownBytes(g.sites) < ownData*t.inuseBytes {
			continue // Data of a library is not for the user to move.
		}
		gain := a.gainOf(t, 0)
		if gain.Best() < moveGain {
			continue
		}
		f := a.finding(g.sites, gain)
		part := 0.0
		if a.scan > 0 {
			part = min(t.scanned/a.scan, 1)
		}
		f.Detail = fmt.Sprintf("Each of the %scollections reads %s of long-lived data, allocated at %s: %s of all that it reads.",
			a.cycleCount(), terminal.Bytes(t.scanned), a.places(g.sites), terminal.Percent(part))
		f.Evidence["scanned_bytes"] = t.scanned
		f.Evidence["scan_share"] = part
		f.Remedy = Remedy{
			Text: "Move the data off the heap (offheap, with offheap.Ref for links), or into a map or slice without pointers. " +
				"Keys and values are then numbers, arrays of bytes, or indexes into one slice. The smaller heap would be collected more often: raise GOGC, or set a memory limit, in the same change." + a.cacheOffer(g.sites) + a.sortOffer(g.sites[0].owner),
			Snippet: "- cache map[string]*entry\n" +
				"+ index   map[uint64]uint32      // hash of the key to an index: no pointers, so never scanned\n" +
				"+ records []record               // offheap.MakeSlice[record](n, n); strings as [32]byte or offheap.Ref",
		}
		f.Check = []string{"The scanned bytes (/gc/scan/heap:bytes): they fall by about the figure above.",
			"Collections a second: at the same GOGC a smaller heap is collected more often, and the smaller of the two gains counts that."}
		found = append(found, f)
	}
	return found
}

// ownData is the least part of a group's bytes whose types must be the user's for the data to be the
// user's.
const ownData = 0.5

// ownBytes are the bytes in use of types that are the user's.
func (a *account) ownBytes(sites []*site) (bytes float64) {
	for _, s := range sites {
		if a.ownType(s) {
			bytes += s.inuseBytes
		}
	}
	return bytes
}

// named are the packages in the name of a type, or in the type arguments of a function.
var named = regexp.MustCompile(`([a-zA-Z0-9_.~%/-]+)\.[A-Za-z_]`)

// ownType reports whether a site allocates values of a type of the user's. The source of the line
// tells it, or the type arguments of a generic function, or else the package that allocates. A
// container of others that has no type arguments in its name holds what its caller puts in.
func (a *account) ownType(s *site) bool {
	name := ""
	switch i := strings.IndexByte(s.at.Func, '['); {
	case i >= 0:
		name = s.at.Func[i:]
	case s.at.User:
		for _, m := range a.allocatesAt(s.at) {
			name += " " + m.Type.Name
		}
	default:
		return s.calledByUser()
	}
	others := false
	for _, m := range named.FindAllStringSubmatch(name, -1) {
		switch pkg := m[1]; {
		case a.code.OfUser(pkg), a.sources() != nil && a.sources().Owns(pkg):
			return true
		case pkg != "go.shape":
			first, _, _ := strings.Cut(pkg, "/")
			others = others || strings.Contains(first, ".")
		}
	}
	return !others
}

// ballast reports whether a site is ballast by itself. Small strings beside structs are not,
// because they move together with the structs.
func (a *account) ballast(s *site) bool {
	return s.scan < pointerFree && s.objectSize() >= largeObject && s.inuseBytes >= ballastPart*(a.live+a.roots)
}

func findBallast(a *account) (found []Finding) {
	var sites []*site
	for _, s := range a.sites {
		if s.claimed == "" && a.longLived(s) && s.scan < pointerFree {
			sites = append(sites, s)
		}
	}
	for _, g := range a.groups(sites, keeps, leastKept*a.live) {
		t := a.sum(g.sites)
		part := t.inuseBytes / max(a.live+a.roots, 1)
		if part < ballastPart || t.inuseBytes < leastBallast || a.ownBytes(g.sites) < ownData*t.inuseBytes {
			continue
		}
		gain := a.gainOf(t, 0)
		if gain.SameGOGC > -minGain {
			continue
		}
		f := a.finding(g.sites, gain)
		f.Severity = SeverityInfo
		f.Detail = fmt.Sprintf("%s of data without pointers, allocated at %s, are %s of the live heap. The collector does not read that data, but runs less often because of it: "+
			"with the data off the heap, at the same GOGC, the program would take %s more CPU.", terminal.Bytes(t.inuseBytes), a.places(g.sites), terminal.Percent(min(part, 1)), terminal.Percent(-gain.SameGOGC))
		f.Evidence["live_share"] = min(part, 1)
		f.Remedy = Remedy{
			Text:    "Leave the data on the heap. If it must move to save memory, raise GOGC in the same change, so that the program keeps its total memory.",
			Snippet: fmt.Sprintf("  data := offheap.MakeSlice[byte](n, n)\n+ debug.SetGCPercent(%.0f)", a.gogcWithout(t.inuseBytes)),
		}
		f.Check = []string{"Collections a second before and after: they must not rise."}
		found = append(found, f)
	}
	return found
}

// gogcWithout is the GOGC to set when the given bytes have left the heap. The heap may then grow by
// as much as now, and by these bytes besides.
func (a *account) gogcWithout(bytes float64) float64 {
	gogc := a.pace.gogc
	if gogc <= 0 {
		gogc = defaultGOGC
	}
	base := a.live + a.roots
	stays := max(base-bytes, base/20)
	return (base*gogc/100 + bytes) / stays * 100
}
