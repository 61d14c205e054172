package posthouse

import (
	"slices"
	"strings"
)

// A Verdict is what a decision says. [Verdicts] lists all of them, with the rules of each.
type Verdict string

// The verdicts. People choose among the first four. The runtime records Expire and
// Cancel, too. A missing answer is never an approval. Only the question about an effect with
// an unknown outcome allows the last three ([Gate.AsksOutcome]).
const (
	Approve Verdict = "approve" // go on as proposed
	Reject  Verdict = "reject"  // do not
	Edit    Verdict = "edit"    // go on with changed values
	Respond Verdict = "respond" // answer in place of the action
	Expire  Verdict = "expire"  // the deadline passed
	Cancel  Verdict = "cancel"  // the question was withdrawn

	Happened Verdict = "happened" // the effect was done; the value is its result
	Redo     Verdict = "redo"     // it was not, and is to be done now: a renewed approval
	GiveUp   Verdict = "give-up"  // it is never done
)

// A VerdictInfo has the rules of a verdict: who may give it, what it carries and what it
// means for the action. All code that reads or offers verdicts goes by it: checks, error
// texts, commands, routes, the inbox page.
type VerdictInfo struct {
	Verdict Verdict
	Code    uint64 // in records; it never changes
	Means   string // for a person who chooses, as in "go on as proposed"
	Past    string // for a person who reads a decision, as in "approved"

	OnGate bool   // a gate may allow it, and does if it names no verdicts
	Settle bool   // the question about an effect with an unknown outcome may allow it, no other gate
	Given  bool   // people give it; otherwise only the runtime does
	Vote   bool   // it may be a vote of a quorum, unless the gate's verdicts leave it out
	Value  string // what its value is, as in "changed values"; "" if it takes no value
	Yes    bool   // the action goes on
	No     bool   // the action does not; the requesters may give it, too

	// Tool is its name as an answer to a tool that waits on a connection, and ToolMeans
	// what it does there. Each verdict that a gate may allow has both.
	Tool, ToolMeans string
}

var verdicts = [...]VerdictInfo{
	{
		Verdict: Approve, Code: 1, Means: "go on as proposed", Past: "approved", OnGate: true, Given: true, Vote: true, Yes: true,
		Tool: "approve", ToolMeans: "Approve a call of a tool",
	},
	{
		Verdict: Reject, Code: 2, Means: "do not", Past: "rejected", OnGate: true, Given: true, Vote: true, No: true,
		Tool: "deny", ToolMeans: "Deny a call of a tool",
	},
	{
		Verdict: Edit, Code: 3, Means: "go on with changed values", Past: "approved with edits", OnGate: true, Given: true, Value: "changed values", Yes: true,
		Tool: "edit", ToolMeans: "Approve a call of a tool with other arguments",
	},
	{
		Verdict: Respond, Code: 4, Means: "answer in place of the action", Past: "answered", OnGate: true, Given: true, Value: "answer",
		Tool: "respond", ToolMeans: "Answer in place of a tool",
	},
	{Verdict: Expire, Code: 5, Means: "the deadline passed", Past: "expired", No: true},
	{Verdict: Cancel, Code: 6, Means: "withdraw the question", Past: "cancelled", Given: true, No: true},
	{Verdict: Happened, Code: 7, Means: "it was done, with this result", Past: "reported as done", Settle: true, Given: true, Value: "result"},
	{Verdict: Redo, Code: 8, Means: "it was not done, do it now", Past: "ordered again", Settle: true, Given: true, Vote: true, Yes: true},
	{Verdict: GiveUp, Code: 9, Means: "leave it, permanently", Past: "given up", Settle: true, Given: true, No: true},
}

// verdictCodes has each verdict at its code.
var verdictCodes = func() []Verdict {
	list := make([]Verdict, len(verdicts)+1)
	for i := range verdicts {
		list[verdicts[i].Code] = verdicts[i].Verdict
	}
	return list
}()

// Verdicts returns all verdicts, ordered by their codes.
func Verdicts() []VerdictInfo { return slices.Clone(verdicts[:]) }

// GateVerdicts returns the verdicts that a gate may allow.
func GateVerdicts() []Verdict { return verdictsIf(func(v *VerdictInfo) bool { return v.OnGate }) }

// SettleVerdicts returns the verdicts of the question about an effect with an unknown outcome.
func SettleVerdicts() []Verdict { return verdictsIf(func(v *VerdictInfo) bool { return v.Settle }) }

// GivenVerdicts returns the verdicts that people give: those of gates, of unknown outcomes, and
// [Cancel].
func GivenVerdicts() []Verdict { return verdictsIf(func(v *VerdictInfo) bool { return v.Given }) }

// ValueVerdicts returns the verdicts that take a value.
func ValueVerdicts() []Verdict { return verdictsIf(func(v *VerdictInfo) bool { return v.Value != "" }) }

// VoteVerdicts returns the votes of a quorum. [Redo] is a vote, too, where an unknown outcome has one.
func VoteVerdicts() []Verdict {
	return verdictsIf(func(v *VerdictInfo) bool { return v.Vote && v.OnGate })
}

func verdictsIf(fits func(*VerdictInfo) bool) (list []Verdict) {
	for i := range verdicts {
		if fits(&verdicts[i]) {
			list = append(list, verdicts[i].Verdict)
		}
	}
	return list
}

// JoinVerdicts lists verdicts in a sentence. last stands before the last one, and commas
// before the others, as in "edit or respond" with " or ".
func JoinVerdicts(list []Verdict, last string) string {
	var b strings.Builder
	for i, v := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			b.WriteString(last)
		default:
			b.WriteString(", ")
		}
		b.WriteString(string(v))
	}
	return b.String()
}

// rules returns those of a verdict; of an unknown one it is empty.
func (v Verdict) rules() *VerdictInfo {
	for i := range verdicts {
		if verdicts[i].Verdict == v {
			return &verdicts[i]
		}
	}
	return &VerdictInfo{}
}

// Info returns the rules of a verdict; the zero VerdictInfo for an unknown one.
func (v Verdict) Info() VerdictInfo { return *v.rules() }

// IsYes reports whether the action goes on, as proposed or changed.
func (v Verdict) IsYes() bool { return v.rules().Yes }

// IsNo reports whether the action does not go on.
func (v Verdict) IsNo() bool { return v.rules().No }

// IsAnswer reports whether a gate may allow the verdict, and it is neither yes nor no: it
// licenses no effect.
func (v Verdict) IsAnswer() bool { return v.rules().OnGate && !v.IsYes() && !v.IsNo() }

// TakesValue reports whether a decision with the verdict has a value; it must have one then.
func (v Verdict) TakesValue() bool { return v.rules().Value != "" }

// KnownVerdict reports whether a gate may allow the verdict.
func KnownVerdict(v Verdict) bool { return v.rules().OnGate }

// Title is the verdict as the label of a button.
func (i VerdictInfo) Title() string {
	return strings.ToUpper(string(i.Verdict[:1])) + strings.ReplaceAll(string(i.Verdict[1:]), "-", " ")
}

// Summary says in one line what giving the verdict means, as in "Approve: go on as proposed".
func (i VerdictInfo) Summary() string { return i.Title() + ": " + i.Means }
