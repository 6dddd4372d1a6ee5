package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// quoted are figures of peers that cannot be fetched and run by a script, measured earlier on a machine of two cores with Go 1.26.8 and Java 17: one million
// orders of 1,525 B in 8 partitions, batches compressed by lz4, objects of 25,000 records compressed by gzip 6, a store on the same machine. Only their ratio to
// the plain Go sink, which took 12.2 µs there, can be compared with a run of today.
var quoted = []struct {
	name, settings string
	perSecond, cpu float64
	peak           int
}{
	{"Aiven GCS sink, head of its repository", "bytes, heap 2 GiB, 2 tasks, file.max.records=25000, offset.flush.interval.ms=5000", 38_600, 41.9, 2105},
	{"Aiven GCS sink, head of its repository", "JSON, the same", 15_000, 118.1, 2430},
	{"Aiven GCS sink v3.4.2", "bytes, the same", 40_700, 42.9, 2413},
	{"Aiven GCS sink v3.4.2", "JSON, the same", 9_300, 208.5, 2436},
	{"Confluent S3 sink", "bytes, heap 2 GiB, 2 tasks, flush.size=25000, DefaultPartitioner, s3.compression.type=gzip", 50_500, 37.4, 1480},
	{"Confluent S3 sink", "JSON, the same", 32_900, 57.5, 1521},
	{"Bento with franz-go 1.18.1", "lines, checkpoint_limit 60000, batching count 25000 and period 3s, gzip 6, max_in_flight 8", 110_700, 15.8, 1618},
	{"Bento with franz-go 1.18.1", "mapping root = this, the same", 23_900, 80.4, 4224},
}

// quotedBase is the CPU of the plain Go sink in those runs, in µs a message.
const quotedBase = 12.2

// report prints medians.
func report(w io.Writer, n int, outcomes []outcome) {
	by := map[string][]outcome{}
	var names []string
	for _, o := range outcomes {
		if by[o.Name] == nil {
			names = append(names, o.Name)
		}
		by[o.Name] = append(by[o.Name], o)
	}
	of := func(name string, figure func(outcome) float64) float64 {
		var all []float64
		for _, o := range by[name] {
			all = append(all, figure(o))
		}
		return median(all)
	}
	reference := of(base, func(o outcome) float64 { return o.CPU })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\truns\tmessages/s\tµs CPU/message\t÷ plain Go\tpeak RSS MiB\tGC cycles\tGC %% of CPU\tGC pauses ms: sum\tmedian\tMB stored\tobjects\ts to group\ts to first object\ts to stop\tbroker/store CPU s\t\n")
	for _, name := range names {
		figure := func(f func(outcome) float64) float64 { return of(name, f) }
		ratio := "–"
		used := figure(func(o outcome) float64 { return o.CPU })
		if reference > 0 {
			ratio = fmt.Sprintf("%.2f", used/reference)
		}
		collector := "–" // Java does not say.
		if share := figure(func(o outcome) float64 { return o.GC / (o.CPU * float64(n)) }); share > 0 {
			collector = fmt.Sprintf("%.2f", 1e8*share)
		}
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.2f\t%s\t%.0f\t%.0f\t%s\t%.1f\t%.2f\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.1f/%.1f\t\n", name, len(by[name]), figure(func(o outcome) float64 { return o.PerSec }), used, ratio,
			figure(func(o outcome) float64 { return float64(o.Peak) }), figure(func(o outcome) float64 { return float64(o.Cycles) }), collector, figure(func(o outcome) float64 { return o.Pauses }), figure(func(o outcome) float64 { return o.Pause }),
			figure(func(o outcome) float64 { return float64(o.Stored) / 1e6 }), figure(func(o outcome) float64 { return float64(o.Objects) }), figure(func(o outcome) float64 { return o.Boot }),
			figure(func(o outcome) float64 { return o.First }),
			figure(func(o outcome) float64 { return o.Stop }), figure(func(o outcome) float64 { return o.Broker }), figure(func(o outcome) float64 { return o.Server }))
	}
	t.Flush()
	fmt.Fprintf(w, "\nMedians; %d messages each. CPU and messages/s count from the moment that the group is stable.\n", n)
	fmt.Fprintf(w, "\nQuoted, not measured now: gzip 6, one million messages; plain Go took %.1f µs in the same conditions.\n\n", quotedBase)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "peer\tmessages/s\tµs CPU/message\t÷ plain Go\tpeak RSS MiB\tsettings\n")
	for _, q := range quoted {
		fmt.Fprintf(t, "%s\t%.0f\t%.1f\t%.2f\t%d\t%s\n", q.name, q.perSecond, q.cpu, q.cpu/quotedBase, q.peak, q.settings)
	}
	t.Flush()
}

// reportSoak prints the median of the resident memory for each million of messages that was committed.
func reportSoak(w io.Writer, n int, outcomes []outcome) {
	const part = 1_000_000
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "median MiB of RSS by million")
	for i := range (n + part - 1) / part {
		fmt.Fprintf(t, "\t%d", i+1)
	}
	fmt.Fprintf(t, "\tpeak\tmessages/s\tobjects\tGC cycles\t\n")
	for _, o := range outcomes {
		fmt.Fprint(t, o.Name)
		for i := range (n + part - 1) / part {
			var all []int64
			for _, s := range o.resident {
				if s.committed >= int64(i)*part && s.committed < int64(i+1)*part {
					all = append(all, s.mib)
				}
			}
			if len(all) == 0 {
				fmt.Fprint(t, "\t–")
				continue
			}
			fmt.Fprintf(t, "\t%d", median(all))
		}
		fmt.Fprintf(t, "\t%d\t%.0f\t%d\t%d\t\n", o.Peak, o.PerSec, o.Objects, o.Cycles)
	}
	t.Flush()
}

// reportLarge prints what large values cost beside the last run without them.
func reportLarge(w io.Writer, _ int, outcomes []outcome) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tpeak RSS MiB\ton top\t÷ a value of %d MB\t\n", largeValue/1_000_000)
	without := int64(0)
	for _, o := range outcomes {
		if !o.large {
			without = o.highest
			fmt.Fprintf(t, "%s\t%d\t\t\t\n", o.Name, o.highest)
			continue
		}
		top := o.highest - without
		fmt.Fprintf(t, "%s\t%d\t%d\t%.2f\t\n", o.Name, o.highest, top, float64(top<<20)/largeValue)
	}
	t.Flush()
}
