// SPDX-License-Identifier: Apache-2.0

// Package service is a small service to try the doctor on: it decodes batches of orders in JSON,
// groups them and encodes a summary.
//
// It is written as such services are: the values that encoding/json makes of each batch live for a
// millisecond, groups grow by append, keys are concatenated with +, and a map keeps a profile of
// each customer for good. Nothing in it is slow on purpose. It runs in a process of its own (see
// Start) with net/http/pprof on a port of the loopback interface, and works as fast as it can.
package service

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// An order is one record of a batch.
type order struct {
	ID       string            `json:"id"`
	Placed   time.Time         `json:"placed"`
	Customer *customer         `json:"customer"`
	Items    []*item           `json:"items"`
	Labels   map[string]string `json:"labels"`
	Note     string            `json:"note,omitempty"`
}

type customer struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Region  string `json:"region"`
	Channel string `json:"channel"`
}

type item struct {
	SKU      string  `json:"sku"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
}

// A group is the sales of a batch through one channel in one region.
type group struct {
	orders []*order
	units  map[string]int
}

// A summary is the service's output for a group.
type summary struct {
	Group   string         `json:"group"`
	Orders  int            `json:"orders"`
	Revenue float64        `json:"revenue"`
	Units   map[string]int `json:"units"`
	Largest []string       `json:"largest"`
}

// A profile is the data that the service keeps about a customer.
type profile struct {
	name    string
	region  string
	visits  int
	revenue float64
	recent  []*visit
}

type visit struct {
	order  string
	placed time.Time
	total  float64
}

// recentVisits is how many visits a profile keeps.
const recentVisits = 4

// profiles are those of all customers, by the customer's id.
type profiles struct {
	mu   sync.Mutex
	byID map[string]*profile
}

// note records the order as a visit of its customer.
func (p *profiles) note(o *order, total float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.byID[o.Customer.ID]
	if known == nil {
		known = &profile{name: o.Customer.Name, region: o.Customer.Region}
		p.byID[o.Customer.ID] = known
	}
	known.visits++
	known.revenue += total
	v := &visit{order: o.ID, placed: o.Placed, total: total}
	if len(known.recent) < recentVisits {
		known.recent = append(known.recent, v)
		return
	}
	known.recent[known.visits%recentVisits] = v
}

// handle processes one batch: it decodes, groups and encodes.
func (p *profiles) handle(message []byte) ([][]byte, error) {
	orders, err := decode(message)
	if err != nil {
		return nil, err
	}
	return encode(p.group(orders))
}

func decode(message []byte) ([]*order, error) {
	var orders []*order
	if err := json.Unmarshal(message, &orders); err != nil {
		return nil, fmt.Errorf("decode a batch: %w", err)
	}
	return orders, nil
}

// group sorts orders by region and channel, counts the sales, and notes each customer's visit.
func (p *profiles) group(orders []*order) map[string]*group {
	groups := map[string]*group{}
	for _, o := range orders {
		key := strings.ToLower(o.Customer.Region) + "/" + o.Customer.Channel
		g := groups[key]
		if g == nil {
			g = &group{units: map[string]int{}}
			groups[key] = g
		}
		g.orders = append(g.orders, o)
		for _, it := range o.Items {
			g.units[o.Labels["warehouse"]+":"+it.SKU] += it.Quantity
		}
		p.note(o, o.total())
	}
	return groups
}

func (o *order) total() (sum float64) {
	for _, it := range o.Items {
		sum += float64(it.Quantity) * it.Price
	}
	return sum
}

// largestOrders is how many orders a summary names.
const largestOrders = 3

// encode writes one message for each group.
func encode(groups map[string]*group) ([][]byte, error) {
	var messages [][]byte
	for key, g := range groups {
		s := summary{Group: key, Orders: len(g.orders), Units: g.units}
		slices.SortFunc(g.orders, func(a, b *order) int { return cmp.Compare(b.total(), a.total()) })
		for i, o := range g.orders {
			s.Revenue += o.total()
			if i < largestOrders {
				s.Largest = append(s.Largest, fmt.Sprintf("%s: %.2f", o.ID, o.total()))
			}
		}
		message, err := json.Marshal(&s)
		if err != nil {
			return nil, fmt.Errorf("encode a summary: %w", err)
		}
		messages = append(messages, message)
	}
	return messages, nil
}
