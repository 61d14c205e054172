package posthouse

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse/internal/base/text"
)

// A Quorum asks several people for one vote each, approve or reject. The vote that
// meets the rule becomes the gate's decision, in the same entry.
type Quorum struct {
	Need    int  `json:"need"`              // approvals by different people that approve the gate; at least 2
	Of      int  `json:"of,omitempty"`      // how many are asked, for a gate without assignees
	Outvote bool `json:"outvote,omitempty"` // rejected once too few are left to approve; otherwise by the first rejection
}

// An Escalation widens the circle of those who may decide, at a point in time.
type Escalation struct {
	At      time.Time `json:"at"`
	To      []string  `json:"to"`
	Replace bool      `json:"replace,omitempty"` // those before lose their right
}

// An Assignment records that the right to decide a gate moved: a person handed it on or took
// it back, the gate escalated, or a substitute decided.
type Assignment struct {
	Gate       ID        `json:"gate"`
	By         string    `json:"by"`              // who handed it on; "posthouse" for an escalation
	Actor      string    `json:"actor,omitempty"` // who sent it, when an operator acts for By
	To         []string  `json:"to"`
	Escalation bool      `json:"escalation,omitempty"`
	Replace    bool      `json:"replace,omitempty"` // of an escalation: earlier assignees lose their right
	Reason     string    `json:"reason,omitempty"`
	At         time.Time `json:"at"`
	Seq        uint64    `json:"seq,omitempty"` // of its entry

	Substitution ID     `json:"substitution,omitempty"` // by which To decided in the place of By
	TakesBack    uint64 `json:"takesBack,omitempty"`    // the entry of the delegation that By takes back; To is By then
}

// Delegates reports whether a person handed the right on: no escalation, no substitute, and not taken back.
func (a *Assignment) Delegates() bool {
	return !a.Escalation && a.Substitution == "" && a.TakesBack == 0
}

// MaxReminders bounds the reminders that a question declares.
const MaxReminders = 20

// A NoticeKind is the kind of a [Notice]. A later version may have others.
type NoticeKind string

// The kinds of notice.
const (
	NoticeReminder NoticeKind = "reminder" // one of [Gate.Remind] is due: once for all that are
	NoticeSnooze   NoticeKind = "snooze"   // a person hides the gate from their own inbox
	NoticeUnsnooze NoticeKind = "unsnooze" // and has it back
)

// A Notice is something on record about an open gate that changes neither its deadline nor who may
// decide it.
type Notice struct {
	Gate   ID         `json:"gate"`
	Kind   NoticeKind `json:"kind"`
	By     string     `json:"by"`               // the person; "posthouse" of a reminder
	Actor  string     `json:"actor,omitempty"`  // who sent it, when an operator acts for By
	Until  time.Time  `json:"until,omitzero"`   // of a snooze; of a reminder when the next one is due, zero without another
	Reason string     `json:"reason,omitempty"` // at most 4,000 bytes
	At     time.Time  `json:"at"`
	Seq    uint64     `json:"seq,omitempty"` // of its entry
}

// Voted returns the vote that a person gave, or sent for somebody, under this name or another one of
// theirs ([Gate.SamePerson]).
func (g *Gate) Voted(name string) *Decision {
	name = g.Voter(name)
	for i := range g.Votes {
		if v := &g.Votes[i]; name != "" && (v.By == name || v.Actor == name) {
			return v
		}
	}
	return nil
}

// Excluded reports whether a person may not answer because the request is theirs. A
// question without approve gives no permission: anybody may answer it.
func (g *Gate) Excluded(name string) bool {
	return g.Requests(name) && g.BarsRequesters()
}

// BarsRequesters reports whether requesters may not answer the gate.
func (g *Gate) BarsRequesters() bool {
	return !g.AllowRequest && slices.ContainsFunc(g.Choices(), Verdict.IsYes)
}

// Missing returns how many approvals a quorum still needs; 0 for a gate that takes one
// decision.
func (g *Gate) Missing() int {
	if g.Quorum == nil {
		return 0
	}
	n := g.Quorum.Need
	for i := range g.Votes {
		if g.Votes[i].Verdict.IsYes() {
			n--
		}
	}
	return max(0, n)
}

// TakesVote reports whether a decision with the verdict is one vote of several: with [Happened] and
// [GiveUp] one person settles an outcome, and [Cancel] withdraws any question.
func (g *Gate) TakesVote(v Verdict) bool {
	return g.Quorum != nil && v != Cancel && (v.rules().Vote || !v.rules().Settle)
}

// A Delegation hands the right to decide a gate to somebody else.
type Delegation struct {
	By     string // who has the right; required
	To     string // who shall have it; required, except to take it back
	Actor  string // who sent it, when an operator acts for By
	Reason string // at most 4,000 bytes
}

// Validate checks the names and the reason; [ErrInvalid].
func (d *Delegation) Validate() error {
	if err := CheckDecider("by", d.By); err != nil {
		return err
	}
	if err := CheckNamed("to", d.To, "to whom"); err != nil {
		return err
	}
	if len(d.Reason) > MaxText || !text.IsUTF8(d.Reason) {
		return Invalid("reason", "must be at most %d bytes of text", MaxText)
	}
	return CheckPerson("actor", d.Actor)
}
