package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"net/url"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/card"
)

// message makes the mail about an event for one recipient. The same event makes the same Message-ID.
func (s *Sender) message(e *notify.Event, id string, r recipient) (*gomail.Msg, error) {
	c := card.Of(e, nil)
	if c.Link != "" && r.person != "" && (e.Data.Gate == nil || e.Data.Gate.Approval == nil) {
		c.Link += "#for=" + url.QueryEscape(r.person)
	}
	about := &letter{Card: c, Carries: e.Data.Gate != nil && e.Data.Gate.Approval != nil, Person: r.person, Open: e.Data.Decision == nil && e.Data.Gate != nil}
	html, err := about.html()
	if err != nil {
		return nil, err
	}
	m := gomail.NewMsg(gomail.WithCharset(gomail.CharsetUTF8), gomail.WithEncoding(gomail.EncodingQP), gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(s.from)
	m.ToMailAddress(r.address)
	if err := m.EnvelopeFrom(s.bounces); err != nil {
		return nil, err
	}
	if s.reply != nil {
		m.ReplyToMailAddress(s.reply)
	}
	m.SetDateWithValue(s.now())
	root := s.rootOf(e, r)
	switch {
	case e.Type == notify.GateOpened:
		m.SetMessageIDWithValue(root)
	default:
		m.SetMessageIDWithValue(s.messageID(id, r))
		m.SetGenHeader(gomail.HeaderInReplyTo, "<"+root+">")
		m.SetGenHeader(gomail.HeaderReferences, "<"+root+">")
	}
	m.Subject(about.subject(e.Type))
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetGenHeader("X-Auto-Response-Suppress", "All")
	m.SetGenHeader("X-Posthouse-Event", string(e.Type))
	m.SetBodyString(gomail.TypeTextPlain, about.text())
	m.AddAlternativeString(gomail.TypeTextHTML, html)
	return m, nil
}

// rootOf returns the Message-ID that mails about one gate refer to, or those about one thread: that of the first of
// them.
func (s *Sender) rootOf(e *notify.Event, r recipient) string {
	if g := e.Data.Gate; g != nil {
		return s.messageID("gate "+string(g.ID), r)
	}
	return s.messageID("thread "+e.Data.Thread, r)
}

// messageID returns a Message-ID that follows from what a mail is about, and to whom it goes.
func (s *Sender) messageID(about string, r recipient) string {
	sum := sha256.Sum256([]byte("posthouse mail 1\x00" + about + "\x00" + r.address.Address))
	return hex.EncodeToString(sum[:16]) + "@" + s.domain()
}

// A letter is a card with what is said of its link.
type letter struct {
	*card.Card
	Carries bool // the link carries the right to decide
	Open    bool // there is something to decide
	Person  string
}

func (l *letter) subject(t notify.Type) string {
	if t == notify.GateOpened || l.Link == "" && l.Outcome == "" {
		return l.Title
	}
	return "Re: " + l.Title
}

// LinkSays says what the link is for.
func (l *letter) LinkSays() string {
	switch {
	case l.Carries:
		return "This link decides as " + l.Person + ", once, for whoever has it: do not pass it on. Opening it decides nothing."
	case !l.Open:
		return "The page of the question:"
	case !l.Whole:
		return "Not all is shown here. Read the whole question and decide; opening the page decides nothing, and you log in there:"
	}
	return "Decide; opening the page decides nothing, and you log in there:"
}

// text is the mail as plain text. What others wrote is indented, so that no line of theirs looks like one of ours.
func (l *letter) text() string {
	var b strings.Builder
	put := func(label, value string) {
		if strings.Contains(value, "\n") {
			b.WriteString(label + ":\n")
			indent(&b, value)
			return
		}
		b.WriteString(label + ": " + value + "\n")
	}
	b.WriteString(l.Title + "\n")
	for _, part := range []string{l.Outcome, l.News, l.Warning} {
		if part != "" {
			b.WriteString("\n" + part + "\n")
		}
	}
	if l.Text != "" {
		b.WriteString("\n")
		indent(&b, l.Text)
	}
	for _, list := range [][]card.Field{l.Fields, l.Facts} {
		if len(list) > 0 {
			b.WriteString("\n")
		}
		for _, f := range list {
			put(f.Label, f.Value)
		}
	}
	if l.Link != "" {
		b.WriteString("\n" + l.LinkSays() + "\n" + l.Link + "\n")
	}
	return b.String()
}

func indent(b *strings.Builder, s string) {
	for line := range strings.Lines(s) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
}

var page = template.Must(template.New("mail").Parse(`<!doctype html>
<html><body style="font-family:sans-serif">
<h2 style="font-size:1.2em">{{.Title}}</h2>
{{with .Outcome}}<p><b>{{.}}</b></p>{{end}}
{{with .News}}<p><b>{{.}}</b></p>{{end}}
{{with .Warning}}<p style="color:#b00020"><b>{{.}}</b></p>{{end}}
{{with .Text}}<p style="white-space:pre-wrap">{{.}}</p>{{end}}
{{if .Fields}}<table cellpadding="4" style="border-collapse:collapse">{{range .Fields}}
<tr><th align="left" valign="top">{{.Label}}</th><td style="white-space:pre-wrap;font-family:monospace">{{.Value}}</td></tr>{{end}}
</table>{{end}}
{{if .Facts}}<p style="color:#555">{{range .Facts}}{{.Label}}: {{.Value}}<br>{{end}}</p>{{end}}
{{if .Link}}<p>{{.LinkSays}}<br><a href="{{.Link}}">{{.Link}}</a></p>{{end}}
</body></html>
`))

func (l *letter) html() (string, error) {
	var b bytes.Buffer
	err := page.Execute(&b, l)
	return b.String(), err
}
