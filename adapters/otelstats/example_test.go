// SPDX-License-Identifier: Apache-2.0

package otelstats_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/freehold-go/freehold/adapters/otelstats"
	"github.com/freehold-go/freehold/offheap"
)

func Example() {
	reader := metric.NewManualReader() // A service has the reader of its exporter here.
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	registration, err := otelstats.Register(provider)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer registration.Unregister()

	index := offheap.NewPurpose("index")
	defer offheap.Free(index.Alloc(1 << 20))

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		fmt.Println(err)
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if m.Name == "freehold.purpose.in_use" {
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				if name, _ := p.Attributes.Value("purpose"); name.AsString() == "index" {
					fmt.Println(m.Name, m.Unit, p.Value)
				}
			}
		}
	}
	// Output: freehold.purpose.in_use By 1048576
}
