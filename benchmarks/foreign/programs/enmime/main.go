// Command enmime reads incoming mail for a ticket system: messages with a text, its HTML and
// attachments are parsed with enmime, the ticket is found by the subject, and the parsed message
// waits in a queue until a worker files it.
//
// The queue has 150 messages. A message has 6 to 60 KB.
//
// The form after the change does not guess character sets: messages name theirs.
package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/jhillyerd/enmime/v2"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	messages = 240 // different ones
	waiting  = 150
)

// ticket is a message that waits for its worker.
type ticket struct {
	number      string
	from        string
	to          []string
	text        string
	attachments map[string][]byte
}

// inbox is the queue.
type inbox struct {
	parser *enmime.Parser
	queue  [waiting]*ticket
	next   int
}

func (b *inbox) receive(message []byte) error {
	envelope, err := b.parser.ReadEnvelope(bytes.NewReader(message))
	if err != nil {
		return err
	}
	t := &ticket{from: envelope.GetHeader("From"), text: envelope.Text, attachments: map[string][]byte{}}
	_, rest, _ := strings.Cut(envelope.GetHeader("Subject"), "[#")
	t.number, _, _ = strings.Cut(rest, "]")
	to, err := envelope.AddressList("To")
	if err != nil {
		return err
	}
	for _, address := range to {
		t.to = append(t.to, address.Address)
	}
	for _, part := range envelope.Attachments {
		t.attachments[part.FileName] = part.Content
	}
	b.queue[b.next] = t
	b.next = (b.next + 1) % waiting
	return nil
}

func main() {
	load.Main(load.Sample{
		Ops:    600,
		Before: func() load.Op { return work(enmime.NewParser()) },
		After:  func() load.Op { return work(enmime.NewParser(enmime.DisableCharacterDetection(true))) },
	})
}

func work(parser *enmime.Parser) load.Op {
	texts := make([][]byte, messages)
	for i := range texts {
		texts[i] = message(i)
	}
	b := inbox{parser: parser}
	return func(i int) {
		if err := b.receive(texts[i%messages]); err != nil {
			panic(err)
		}
	}
}

// message is the n-th one, as a mail program sends it.
func message(n int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Received: from mx%d.example.net (mx.example.net [192.0.2.%d])\r\n\tby mail.example.com with ESMTPS id 4f%dA\r\n\tfor <help@example.com>; Fri, 16 Oct 2026 10:%02d:00 +0200\r\n", n%4, n%250, n, n%60)
	fmt.Fprintf(&b, "From: =?utf-8?q?J=C3=BCrgen_%d?= <customer%d@example.net>\r\nTo: \"Help, first line\" <help@example.com>, Orders <orders@example.com>\r\nCc: archive@example.com\r\n", n, n)
	fmt.Fprintf(&b, "Subject: =?utf-8?b?%s?=\r\nMessage-ID: <m%d@example.net>\r\nDate: Fri, 16 Oct 2026 10:%02d:00 +0200\r\nMIME-Version: 1.0\r\n", base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "Re: Größe stimmt nicht [#%06d]", n*37)), n, n%60)
	b.WriteString("Content-Type: multipart/mixed; boundary=\"outer-=_1\"\r\n\r\n--outer-=_1\r\nContent-Type: multipart/alternative; boundary=\"inner-=_2\"\r\n\r\n")
	b.WriteString("--inner-=_2\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n")
	for k := range 10 + n%30 {
		fmt.Fprintf(&b, "Line %d: the parcel of order %d came in the wrong size, gr=FC=DFe from a cus=\r\ntomer who waits.\r\n", k, n*13)
	}
	b.WriteString("--inner-=_2\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<html><body>")
	for k := range 10 + n%30 {
		fmt.Fprintf(&b, "<p style=3D\"margin:0\">Line %d: the parcel of order <b>%d</b> came in the wrong size.</p>\r\n", k, n*13)
	}
	b.WriteString("</body></html>\r\n--inner-=_2--\r\n")
	for k := range n % 4 {
		fmt.Fprintf(&b, "--outer-=_1\r\nContent-Type: image/jpeg; name=\"photo-%d.jpg\"\r\nContent-Disposition: attachment; filename=\"photo-%d.jpg\"\r\nContent-Transfer-Encoding: base64\r\n\r\n", k, k)
		encoded := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(n), byte(k), 7, 200}, 1200+n%5*700))
		for len(encoded) > 76 {
			b.WriteString(encoded[:76] + "\r\n")
			encoded = encoded[76:]
		}
		b.WriteString(encoded + "\r\n")
	}
	b.WriteString("--outer-=_1--\r\n")
	return b.Bytes()
}
