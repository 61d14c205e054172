package gate_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

// TestTerms: what a question licenses, who may answer it and who changed it stand in words beside what it shows.
func TestTerms(t *testing.T) {
	back := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		gate posthouse.Gate
		want []gate.Term
	}{
		"a question that licenses nothing": {posthouse.Gate{Name: "ok?"}, []gate.Term{}},
		"one effect":                       {posthouse.Gate{Uses: 1}, []gate.Term{{Label: "Licenses", Value: "one effect"}}},
		"several, for a time": {
			posthouse.Gate{Uses: 3, ValidFor: 90 * 24 * time.Hour, Assignees: []string{"ann", "bob"}, Quorum: &posthouse.Quorum{Need: 2}},
			[]gate.Term{
				{Label: "Licenses", Value: "up to 3 effects, for 90 days from the decision"}, {Label: "Who may decide", Value: "ann, bob"},
				{Label: "Needs", Value: "2 approvals by different people"},
			},
		},
		"changes by people": {
			posthouse.Gate{Requesters: []posthouse.Requester{
				{Name: "ann", How: posthouse.KindInput}, {Name: "eve", How: posthouse.KindInput, What: []string{"amount"}},
				{Name: "mallory", How: posthouse.KindUpdate, What: []string{"payee", "", "amount"}}, {Name: "sam", How: posthouse.RequestedBySignal},
				{Name: "fay", How: posthouse.KindFork}, {Name: "ida", How: posthouse.RequestedByImport}, {Name: "jon", How: posthouse.RequestedByAnswer},
			}},
			[]gate.Term{
				{Label: "Whose change", Value: "amount sent as input by eve"}, {Label: "Whose change", Value: "payee, amount changed by mallory"},
				{Label: "Whose change", Value: "it sent as a signal by sam"}, {Label: "Whose change", Value: "it changed in a fork by fay"},
				{Label: "Whose change", Value: "it imported by ida"}, {Label: "Whose change", Value: "it answered by jon"},
			},
		},
		"an unknown outcome in a store that was put back": {
			posthouse.Gate{Kind: posthouse.GateOutcome, Attempt: &posthouse.Attempt{Effect: "transfer"}, PutBack: back, Verdicts: []posthouse.Verdict{posthouse.Happened, posthouse.GiveUp}},
			[]gate.Term{
				{Label: "Store put back", Value: "to 2026-11-28T12:00:00Z: this may have been answered, or done, since"}, {Label: "Effect", Value: "transfer"},
			},
		},
	} {
		if got := gate.Terms(&c.gate); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestEffectOf: a question from before attempts were on record has the effect in its name.
func TestEffectOf(t *testing.T) {
	for _, c := range []struct {
		gate posthouse.Gate
		want string
	}{
		{posthouse.Gate{Name: "pay>it is not known", Attempt: &posthouse.Attempt{Effect: "transfer"}}, "transfer"},
		{posthouse.Gate{Name: "deal>pay>it is not known"}, "deal>pay"},
		{posthouse.Gate{Name: "pay"}, "pay"},
		{posthouse.Gate{Name: ">pay"}, ">pay"},
	} {
		if got := gate.EffectOf(&c.gate); got != c.want {
			t.Errorf("%q: %q, want %q", c.gate.Name, got, c.want)
		}
	}
}
