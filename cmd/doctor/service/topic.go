// SPDX-License-Identifier: Apache-2.0

package service

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// The size of the topic that the service reads: batches, orders in each, customers.
const (
	batches         = 32
	ordersPerBatch  = 100
	customers       = 80_000
	articles        = 5_000
	mostItems       = 6
	messagesPerPoll = 4
)

var (
	regions    = []string{"North", "South", "East", "West", "Centre", "Islands"}
	channels   = []string{"web", "app", "store", "phone"}
	warehouses = []string{"A1", "A2", "B1", "C3"}
)

// A topic is the messages that the service reads over and over, as from a log that is kept in
// memory.
type topic struct {
	messages [][]byte
}

// newTopic writes the same messages each time.
func newTopic(batches int) (*topic, error) {
	r := rand.New(rand.NewPCG(1, 2))
	t := &topic{}
	for b := range batches {
		orders := make([]*order, ordersPerBatch)
		for i := range orders {
			orders[i] = newOrder(r, b*ordersPerBatch+i)
		}
		message, err := json.Marshal(orders)
		if err != nil {
			return nil, fmt.Errorf("write a batch: %w", err)
		}
		t.messages = append(t.messages, message)
	}
	return t, nil
}

// poll returns the messages from offset on. Like a client of Kafka it returns copies, which the
// caller owns.
func (t *topic) poll(offset int) [][]byte {
	var fetched [][]byte
	for i := range messagesPerPoll {
		message := t.messages[(offset+i)%len(t.messages)]
		fetched = append(fetched, append(make([]byte, 0, len(message)), message...))
	}
	return fetched
}

func newOrder(r *rand.Rand, number int) *order {
	c := r.IntN(customers)
	o := &order{
		ID:       fmt.Sprintf("ord-%08d", number),
		Placed:   time.Date(2026, 1, 1, 0, 0, number, 0, time.UTC),
		Customer: newCustomer(c),
		Labels:   map[string]string{"warehouse": warehouses[r.IntN(len(warehouses))], "priority": fmt.Sprint(r.IntN(3))},
	}
	for range 1 + r.IntN(mostItems) {
		o.Items = append(o.Items, &item{
			SKU: fmt.Sprintf("sku-%05d", r.IntN(articles)), Quantity: 1 + r.IntN(5), Price: float64(r.IntN(20_000)) / 100,
		})
	}
	if r.IntN(4) == 0 {
		o.Note = "Please leave the parcel with the neighbours at number " + fmt.Sprint(r.IntN(100))
	}
	return o
}

func newCustomer(c int) *customer {
	return &customer{
		ID: fmt.Sprintf("cus-%07d", c), Name: fmt.Sprintf("Customer Number %d", c),
		Region: regions[c%len(regions)], Channel: channels[c/len(regions)%len(channels)],
	}
}

// newProfiles makes a profile of every customer, like those of a service that has been running for
// a day.
func newProfiles(customers int) *profiles {
	p := &profiles{byID: map[string]*profile{}}
	for c := range customers {
		who := newCustomer(c)
		known := &profile{name: who.Name, region: who.Region, visits: recentVisits}
		for v := range recentVisits {
			known.recent = append(known.recent, &visit{order: fmt.Sprintf("ord-%08d", c*recentVisits+v), total: float64(v)})
		}
		p.byID[who.ID] = known
	}
	return p
}
