package posthouse

import (
	"fmt"
	"time"
)

// An Answer says of a gate's verdict what giving it does, for a person who chooses. Every door shows
// these words and no others: the page, the command line, Slack, mail, an approval on a connection.
type Answer struct {
	Verdict Verdict `json:"verb"`              // also the name of the command, and of the path below the gate
	Label   string  `json:"label"`             // of a button
	Does    string  `json:"does"`              // what happens then, in a sentence
	Risk    string  `json:"risk,omitempty"`    // what can go wrong with it
	Confirm bool    `json:"confirm,omitempty"` // it is asked about once more before it is sent
	Primary bool    `json:"primary,omitempty"` // it may be the first choice, and the one of a single press
	Value   string  `json:"value,omitempty"`   // what is sent with it, as in "result"; "" for nothing
	Page    bool    `json:"page,omitempty"`    // it is given by who is logged in alone: not by a link, token, mail or Slack
}

// Answers returns what people may answer to the gate, in the order of its choices. It is computed from
// the gate's kind and from what its question licenses, and is on no record.
func (g *Gate) Answers() []Answer {
	choices := g.Choices()
	all := make([]Answer, 0, len(choices))
	for _, v := range choices {
		all = append(all, g.answer(v))
	}
	return all
}

// Answer returns what a verdict does to the gate, in today's words also for one that is on record in
// those of an earlier version. Ok is false if the gate does not take it.
func (g *Gate) Answer(v Verdict) (a Answer, ok bool) {
	v = g.Said(v)
	if v == Cancel || v == Expire || !g.Allows(v) {
		return Answer{}, false
	}
	return g.answer(v), true
}

func (g *Gate) answer(v Verdict) Answer {
	a := Answer{Verdict: v, Label: v.Info().Title(), Value: v.Info().Value, Confirm: true}
	switch v {
	case Approve:
		a.Does, a.Primary = "The program continues as proposed", true
		if g.Uses > 0 {
			a.Does = "What is shown is done" + g.howOften()
		}
		if g.Uses > 1 {
			a.Risk = fmt.Sprintf("It may be done up to %d times.", g.Uses)
		}
	case Reject:
		a.Does = "Nothing is done: the program continues without it"
	case Edit:
		a.Does = "The program continues with the values that you change"
		if g.Uses > 0 {
			a.Does = "What you make of it is done" + g.howOften()
		}
	case Respond:
		a.Label, a.Does = "Answer", "The program continues with your answer"
		a.Primary = !g.Allows(Approve)
	case Happened:
		a.Label, a.Does = "It was done", "You give its result, and it is not done again"
	case Redo:
		a.Label, a.Does = "Do it again", "It is done now, under a renewed approval"
		a.Risk, a.Page = "If it was done after all, it is done twice. Look for it where it acts first.", true
	case GiveUp:
		a.Label, a.Does = "Give it up", "It is never done, and has no result"
	}
	if g.TakesVote(v) && v.IsYes() {
		a.Does += fmt.Sprintf(", once %d more of you have said so", g.Missing())
	}
	return a
}

// howOften says how many effects an approval licenses, and for how long.
func (g *Gate) howOften() (s string) {
	if g.Uses > 1 {
		s = fmt.Sprintf(", up to %d times", g.Uses)
	}
	if g.ValidFor > 0 {
		s += ", within " + Spell(g.ValidFor) + " of the decision"
	}
	return s
}

// Spell returns a time span in words, as in "90 days".
func Spell(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := d / unit.of; n > 0 && d%unit.of == 0 {
			if n == 1 {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}
