// Command goquery reads the offers of shops for a site that compares prices: it parses the pages that
// a crawler stored, finds the offers by CSS selectors, reads each offer from its HTML, and keeps the
// latest price of each article.
//
// A page has 24 to 60 offers, with navigation and recommendations around them.
//
// The form after the change reads an offer from the page's tree.
package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

// offer is a price of an article.
type offer struct {
	name     string
	price    float64
	shipping float64
	seller   string
	stars    int
	inStock  bool
}

// reader keeps the offers by the article's number.
type reader struct {
	latest map[string]offer
	offers func(page io.Reader, found func(sku string, o offer)) error
}

const offerCSS = "main section.results > article.offer"

func offers(page io.Reader, found func(sku string, o offer)) error {
	doc, err := goquery.NewDocumentFromReader(page)
	if err != nil {
		return err
	}
	doc.Find(offerCSS).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		var card string
		if card, err = goquery.OuterHtml(s); err != nil {
			return false
		}
		var o offer
		if o, err = parseOffer(card); err == nil {
			found(s.AttrOr("data-sku", ""), o)
		}
		return err == nil
	})
	return err
}

// parseOffer reads an offer from its HTML, which is how the tests have it.
func parseOffer(card string) (offer, error) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(card))
	if err != nil {
		return offer{}, err
	}
	return newOffer(doc.Selection), nil
}

func newOffer(s *goquery.Selection) offer {
	return offer{
		name:     strings.TrimSpace(s.Find("h3.title > a[href]").Text()),
		price:    amount(s.Find("div.pricing span[itemprop=price]").AttrOr("content", "")),
		shipping: amount(s.Find("div.pricing .shipping > strong").Text()),
		seller:   s.Find("footer .seller a[rel~=nofollow]").Text(),
		stars:    s.Find("div.rating i.star:not(.empty)").Length(),
		inStock:  s.Find("div.pricing, footer").Find("span.badge.stock").Length() > 0,
	}
}

func offersInPlace(page io.Reader, found func(sku string, o offer)) error {
	doc, err := goquery.NewDocumentFromReader(page)
	if err != nil {
		return err
	}
	doc.Find(offerCSS).Each(func(_ int, s *goquery.Selection) {
		found(s.AttrOr("data-sku", ""), newOffer(s))
	})
	return nil
}

// amount reads a price such as "4.90".
func amount(text string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return 0
	}
	return v
}

func (r *reader) read(page string) error {
	n := 0
	err := r.offers(strings.NewReader(page), func(sku string, o offer) {
		r.latest[sku] = o
		if o.price > 0 && o.name != "" {
			n++
		}
	})
	if err == nil && n < 24 {
		err = fmt.Errorf("a page with %d offers", n)
	}
	return err
}

func main() {
	load.Main(load.Sample{
		Ops:    500,
		Before: func() load.Op { return work(offers) },
		After:  func() load.Op { return work(offersInPlace) },
	})
}

func work(offers func(io.Reader, func(string, offer)) error) load.Op {
	pages := make([]string, 120)
	for i := range pages {
		pages[i] = page(i)
	}
	r := &reader{map[string]offer{}, offers}
	return func(i int) {
		if err := r.read(pages[i%len(pages)]); err != nil {
			panic(err)
		}
	}
}

// page is the n-th list of offers.
func page(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><html lang=en><head><title>Results %d</title><meta charset=utf-8><link rel=stylesheet href=/s.css></head><body><nav><ul>", n)
	for k := range 30 {
		fmt.Fprintf(&b, "<li><a href=\"/c/%d\" class=\"nav-link\">Department %d</a>", k, k)
	}
	b.WriteString("</ul></nav><main><section class=\"results\">")
	for k := range 24 + n%37 {
		id := n*100 + k
		fmt.Fprintf(&b, `<article class="offer card" data-sku="sku-%d"><h3 class="title"><a href="/p/%d">Article %d, size %d &amp; colour %d</a></h3><img src="/img/%d.jpg" alt="">`, id, id, id, id%9, id%7, id)
		b.WriteString(`<div class="rating">`)
		for s := range 5 {
			if s <= id%5 {
				b.WriteString(`<i class="star"></i>`)
			} else {
				b.WriteString(`<i class="star empty"></i>`)
			}
		}
		fmt.Fprintf(&b, `</div><div class="pricing"><span itemprop="price" content="%d.99">%d.99 EUR</span> <span class="shipping">plus <strong>%d.90</strong></span></div>`, 5+id%300, 5+id%300, id%6)
		fmt.Fprintf(&b, `<p>Free of <em>charge</em> from 50 EUR. Sent in %d days.</p><footer><span class="seller">by <a href="/s/%d" rel="nofollow noopener">Seller %d</a></span>`, id%9, id%80, id%80)
		if id%3 > 0 {
			b.WriteString(`<span class="badge stock">in stock</span>`)
		}
		b.WriteString("</footer></article>")
	}
	b.WriteString("</section><aside><h2>Others bought</h2>")
	for k := range 12 {
		fmt.Fprintf(&b, `<div class="tip"><a href="/p/%d"><b>Tip %d</b></a><p>Seen %d times.</p></div>`, k, k, n*k)
	}
	b.WriteString("</aside></main><footer><p>All prices include tax.</p></footer></body></html>")
	return b.String()
}
