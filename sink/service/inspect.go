// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/sink"
	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/store"
)

// Inspect lists the objects of the configuration's topics, objects of bad records included: for each partition the offsets that they hold, and where
// there are gaps and overlaps. It reads what the store keeps beside the objects, not the objects.
func Inspect(ctx context.Context, w io.Writer, c config.Config, each bool) error {
	o, err := options(c)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, c.Store, func(store.Attempt) {})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, topic := range c.Kafka.Topics {
		prefixes := []string{string(o.Key.Prefix(nil, topic))}
		if o.Bad == sink.RejectToObjects {
			prefixes = append(prefixes, string(o.RejectKey.Prefix(nil, topic)))
		}
		found, foreign, err := objects(ctx, s, prefixes, topic)
		if err != nil {
			return err
		}
		report(w, topic, found, foreign, each)
		reportRejected(w, topic, found)
	}
	return nil
}

// objects are the objects of a topic by partition, and the number of those that the sink did not write.
func objects(ctx context.Context, s store.Store, prefixes []string, topic string) (by map[int32][]store.Info, foreign int, err error) {
	by = map[int32][]store.Info{}
	for i, prefix := range prefixes {
		for info, err := range s.List(ctx, prefix) {
			if err != nil {
				return nil, 0, fmt.Errorf("listing %v: %w", s, err)
			}
			before := func(prefix string) bool { return strings.HasPrefix(info.Key, prefix) }
			switch {
			case slices.ContainsFunc(prefixes[:i], before): // It was in an earlier listing.
			case !info.HasAbout:
				foreign++
			case info.About.Topic == topic:
				by[info.About.Partition] = append(by[info.About.Partition], info)
			}
		}
	}
	return by, foreign, nil
}

// reportRejected reports on the objects of bad records.
func reportRejected(w io.Writer, topic string, by map[int32][]store.Info) {
	var count, records int64
	for _, infos := range by {
		for _, i := range infos {
			if strings.HasPrefix(i.About.Format, encode.RejectedName+" ") {
				count, records = count+1, records+i.About.Records
			}
		}
	}
	if count > 0 {
		fmt.Fprintf(w, "%s: %d of these records were rejected, to %d of these objects\n", topic, records, count)
	}
}

// epochSpan is what the objects of one epoch hold together.
type epochSpan struct {
	first, next      int64
	objects, records int64
}

func report(w io.Writer, topic string, by map[int32][]store.Info, foreign int, each bool) {
	var count, records, bytes int64
	for _, p := range slices.Sorted(maps.Keys(by)) {
		infos := by[p]
		for _, i := range infos {
			count, records, bytes = count+1, records+i.About.Records, bytes+i.Size
		}
		name := fmt.Sprintf("%s partition %d", topic, p)
		alone := slices.DeleteFunc(slices.Clone(infos), func(i store.Info) bool { return i.About.EpochFirst != store.NoEpoch })
		together := slices.DeleteFunc(slices.Clone(infos), func(i store.Info) bool { return i.About.EpochFirst == store.NoEpoch })
		reportEpochs(w, name, together)
		reportGroups(w, name, alone)
		if each {
			slices.SortFunc(infos, func(a, b store.Info) int {
				return cmp.Or(cmp.Compare(a.About.FirstOffset, b.About.FirstOffset), cmp.Compare(a.Key, b.Key))
			})
			for _, i := range infos {
				fmt.Fprintf(w, "  %s  %d records, offsets %d to %d, %d bytes\n", i.Key, i.About.Records, i.About.FirstOffset, i.About.LastOffset, i.Size)
			}
		}
	}
	fmt.Fprintf(w, "%s: %d objects, %d records, %d bytes\n", topic, count, records, bytes)
	if foreign > 0 {
		fmt.Fprintf(w, "%d objects under the same prefix were not written by freehold-sink, or lack its metadata\n", foreign)
	}
}

// reportEpochs reports on objects that ended with all of their partition.
func reportEpochs(w io.Writer, name string, infos []store.Info) {
	if len(infos) == 0 {
		return
	}
	slices.SortFunc(infos, func(a, b store.Info) int {
		return cmp.Or(cmp.Compare(a.About.EpochFirst, b.About.EpochFirst), cmp.Compare(a.Key, b.Key))
	})
	var epochs []epochSpan
	for _, i := range infos {
		a := i.About
		if n := len(epochs); n > 0 && epochs[n-1].first == a.EpochFirst {
			e := &epochs[n-1]
			e.next, e.objects, e.records = max(e.next, a.EpochNext), e.objects+1, e.records+a.Records
			continue
		}
		epochs = append(epochs, epochSpan{a.EpochFirst, a.EpochNext, 1, a.Records})
	}
	last := epochs[len(epochs)-1]
	fmt.Fprintf(w, "%s: offsets %d to %d in %d objects of %d epochs\n", name, epochs[0].first, last.next-1, len(infos), len(epochs))
	for i, e := range epochs[1:] {
		switch before := epochs[i]; {
		case e.first > before.next:
			fmt.Fprintf(w, "  gap: offsets %d to %d are in no object; they were skipped or rejected to a topic, are compacted or control records, or objects were deleted\n", before.next, e.first-1)
		case e.first < before.next:
			fmt.Fprintf(w, "  overlap: offsets %d to %d are in objects of two epochs, from %d and from %d\n", e.first, min(e.next, before.next)-1, before.first, e.first)
		}
	}
	for _, e := range epochs {
		if missing := e.next - e.first - e.records; missing != 0 {
			fmt.Fprintf(w, "  epoch from %d: %d offsets and %d records; the others were skipped or rejected to a topic, or are compacted or control records\n", e.first, e.next-e.first, e.records)
		}
	}
}

// reportGroups reports on objects that ended by themselves. Their offsets lie between each other's, so a gap shows in the number of records alone.
func reportGroups(w io.Writer, name string, infos []store.Info) {
	if len(infos) == 0 {
		return
	}
	// Objects of bad records have no group, but another format.
	slices.SortFunc(infos, func(a, b store.Info) int {
		return cmp.Or(cmp.Compare(a.About.Group, b.About.Group), cmp.Compare(a.About.Format, b.About.Format), cmp.Compare(a.About.FirstOffset, b.About.FirstOffset))
	})
	first, last, records, groups := infos[0].About.FirstOffset, int64(0), int64(0), 0
	for i, info := range infos {
		a := info.About
		first, last, records = min(first, a.FirstOffset), max(last, a.LastOffset), records+a.Records
		if i == 0 || infos[i-1].About.Group != a.Group || infos[i-1].About.Format != a.Format {
			groups++
		} else if before := infos[i-1].About; a.FirstOffset < before.EpochNext {
			fmt.Fprintf(w, "  overlap: %s begins at offset %d, and %s has its group's records before %d\n", info.Key, a.FirstOffset, infos[i-1].Key, before.EpochNext)
		}
	}
	fmt.Fprintf(w, "%s: offsets %d to %d in %d objects of %d groups that end by themselves\n", name, first, last, len(infos), groups)
	if missing := last - first + 1 - records; missing != 0 {
		fmt.Fprintf(w, "  %d of these offsets are in no object: their objects are still open, or they were skipped or rejected to a topic, or are compacted or control records\n", missing)
	}
}
