// Command rrule publishes calendars: it expands the recurring events of a person with rrule-go, and
// writes the occurrences of the next quarter as an iCalendar feed that a phone subscribes to.
//
// A person has 6 to 20 events, most of them weekly: a feed has some 200 to 700 occurrences.
//
// The form after the change writes the feed into a strings.Builder.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const people = 300

// event is a row of the calendar's table.
type event struct {
	id       int
	title    string
	place    string
	duration time.Duration
	rule     *rrule.RRule
}

// calendars are the events by person.
type calendars struct {
	events [people][]event
	feed   func(list []event, from, to time.Time) string
}

var origin = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

func newCalendars() (*calendars, error) {
	rules := []string{
		"FREQ=WEEKLY;BYDAY=MO,WE,FR", "FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "FREQ=MONTHLY;BYDAY=2TU", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TH", "FREQ=WEEKLY;BYDAY=TU,TH",
	}
	c := &calendars{feed: feed}
	for p := range c.events {
		for k := range 6 + p%15 {
			r, err := rrule.StrToRRule(rules[(p+k)%len(rules)])
			if err != nil {
				return nil, err
			}
			r.DTStart(origin.Add(time.Duration(k) * 35 * time.Minute))
			c.events[p] = append(c.events[p], event{
				id: p*100 + k, title: fmt.Sprintf("Meeting %d of group %d", k, p%30), place: fmt.Sprintf("Room %d, floor %d", k, p%7), duration: 45 * time.Minute, rule: r,
			})
		}
	}
	return c, nil
}

const stamp = "20060102T150405Z"

func feed(list []event, from, to time.Time) string {
	out := "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example.com//calendar//EN\r\n"
	for _, e := range list {
		for _, at := range e.rule.Between(from, to, true) {
			out += entry(e, at)
		}
	}
	return out + "END:VCALENDAR\r\n"
}

func feedBuilt(list []event, from, to time.Time) string {
	var out strings.Builder
	out.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example.com//calendar//EN\r\n")
	for _, e := range list {
		for _, at := range e.rule.Between(from, to, true) {
			out.WriteString(entry(e, at))
		}
	}
	out.WriteString("END:VCALENDAR\r\n")
	return out.String()
}

// entry is one occurrence.
func entry(e event, at time.Time) string {
	return "BEGIN:VEVENT\r\nUID:" + strconv.Itoa(e.id) + "-" + strconv.FormatInt(at.Unix(), 10) + "@calendar.example.com\r\nDTSTAMP:" + origin.Format(stamp) +
		"\r\nDTSTART:" + at.Format(stamp) + "\r\nDTEND:" + at.Add(e.duration).Format(stamp) + "\r\nSUMMARY:" + e.title + "\r\nLOCATION:" + e.place +
		"\r\nSTATUS:CONFIRMED\r\nCLASS:PRIVATE\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT10M\r\nEND:VALARM\r\nEND:VEVENT\r\n"
}

func (c *calendars) serve(w http.ResponseWriter, r *http.Request) {
	p, err := strconv.Atoi(r.PathValue("person"))
	if err != nil || p < 0 || p >= people {
		http.NotFound(w, r)
		return
	}
	from := origin.AddDate(0, 3, p%28)
	w.Header().Set("Content-Type", "text/calendar")
	io.WriteString(w, c.feed(c.events[p], from, from.AddDate(0, 3, 0)))
}

func start(after bool) (load.Server, error) {
	c, err := newCalendars()
	if err != nil {
		return load.Server{}, err
	}
	if after {
		c.feed = feedBuilt
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /calendars/{person}", c.serve)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, mux)
	return load.Server{Address: "http://" + l.Addr().String()}, nil
}

func dial(address string, _ int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	return func(i int) error {
		answer, err := client.Get(fmt.Sprintf("%s/calendars/%d", address, i*7919%people))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && (answer.StatusCode != http.StatusOK || bytes.Count(text, []byte("BEGIN:VEVENT")) < 100) {
			err = fmt.Errorf("%s: %d bytes", answer.Status, len(text))
		}
		return err
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 60, Connections: 6, Start: start, HasAfter: true, Dial: dial})
}
