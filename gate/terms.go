package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// A Term is what else an answer counts for, besides the content: how often and how long it licenses
// effects, who may give it, and whose change is asked about.
type Term struct {
	Label string `json:"label"` // what it is, as in "Licenses"
	Value string `json:"value"` // in words
}

// Terms returns the terms of a gate for people. Every door shows them with the question.
func Terms(g *posthouse.Gate) []Term {
	terms := []Term{}
	add := func(label, value string) {
		if value != "" {
			terms = append(terms, Term{label, value})
		}
	}
	if !g.PutBack.IsZero() {
		add("Store put back", "to "+g.PutBack.UTC().Format(time.RFC3339)+": this may have been answered, or done, since")
	}
	if g.AsksOutcome() {
		add("Effect", EffectOf(g))
	}
	if g.Uses > 0 {
		add("Licenses", licensing(g))
	}
	add("Who may decide", strings.Join(g.Assignees, ", "))
	if q := g.Quorum; q != nil {
		add("Needs", fmt.Sprintf("%d approvals by different people", q.Need))
	}
	for _, r := range g.Requesters {
		if r.How != posthouse.KindInput || len(r.What) > 0 {
			add("Whose change", changed(&r))
		}
	}
	return terms
}

func licensing(g *posthouse.Gate) string {
	s := "one effect"
	if g.Uses > 1 {
		s = fmt.Sprintf("up to %d effects", g.Uses)
	}
	if g.ValidFor > 0 {
		s += ", for " + posthouse.Spell(g.ValidFor) + " from the decision"
	}
	return s
}

// changed says what a requester did, as in "payee changed by mallory".
func changed(r *posthouse.Requester) string {
	what := strings.Join(slices.DeleteFunc(slices.Clone(r.What), func(s string) bool { return s == "" }), ", ")
	if what == "" {
		what = "it"
	}
	how := map[string]string{
		posthouse.RequestedBySignal: "sent as a signal by ", posthouse.RequestedByImport: "imported by ", posthouse.KindInput: "sent as input by ",
		posthouse.KindFork: "changed in a fork by ", posthouse.RequestedByAnswer: "answered by ",
	}[r.How]
	if how == "" {
		how = "changed by "
	}
	return what + " " + how + r.Name
}

// EffectOf returns the name of the effect that a question about an unknown outcome is about.
func EffectOf(g *posthouse.Gate) string {
	if g.Attempt != nil {
		return g.Attempt.Effect
	}
	if at := strings.LastIndexByte(g.Name, '>'); at > 0 {
		return g.Name[:at]
	}
	return g.Name
}
