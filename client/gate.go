package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// A Term is what else an answer to a gate counts for, besides its content: how many effects it
// licenses and for how long, who may give it, whose change is asked about.
type Term struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// A Gate is a question as the inbox shows it.
type Gate struct {
	posthouse.Gate
	Intent        string             `json:"intent"`                  // what is asked, in one line
	Binding       []BindingField     `json:"binding"`                 // what a decision is about
	State         string             `json:"state"`                   // open, decided, expired or withdrawn
	May           []string           `json:"may"`                     // what the caller may do: verdicts, delegate, ask-again
	Barred        string             `json:"barred,omitempty"`        // why the caller may not give the others
	SubstituteFor string             `json:"substituteFor,omitempty"` // in whose place the caller may decide
	Why           string             `json:"why,omitempty"`           // why it was decided
	Answers       []posthouse.Answer `json:"answers"`                 // what people may answer, and what each answer does
	Terms         []Term             `json:"terms"`                   // what else an answer counts for
	SnoozedUntil  time.Time          `json:"snoozedUntil,omitzero"`   // the caller put it off until then
	Before        Document           `json:"before,omitempty"`        // what the gate showed that this one supersedes, as JSON
	Duplicates    []Duplicate        `json:"duplicates,omitempty"`    // of one open gate: questions of its name on other branches and in forks; not in lists
	Error         Document           `json:"error,omitempty"`         // why it cannot be read, as JSON
}

// A Duplicate is a question on another branch of the thread, or in a fork or copy of it, that asks the same:
// who approves both has the effect done twice.
type Duplicate struct {
	Gate    posthouse.ID      `json:"gate"`
	Thread  string            `json:"thread,omitempty"` // that asks, if it is another thread
	Branch  string            `json:"branch"`
	Seq     uint64            `json:"seq"`               // of the entry that asks
	Intent  string            `json:"intent"`            // what it asks, in one line
	State   string            `json:"state"`             // open, or decided with yes or an answer
	Status  string            `json:"status"`            // of its effects: proposed, decided, released, executed or unknown
	Verdict posthouse.Verdict `json:"verdict,omitempty"` // once it is decided
	By      string            `json:"by,omitempty"`      // who decided
	At      time.Time         `json:"at,omitzero"`       // when it was decided
}

// A BindingField is a member of what is shown, with its value as on record.
type BindingField struct {
	Name  string          `json:"name"`
	Label string          `json:"label"`
	Value json.RawMessage `json:"value"`
}

// A GateQuery says which gates to list. Nil is all that wait, the newest first. One that names no person
// (Assignee, Assigned, Decider, Requester) is [posthouse.ErrInvalid], unless Everyone is set.
type GateQuery struct {
	State     string // open, decided, expired or withdrawn; "" is open
	Thread    string // of this thread
	Question  string // of this name
	Program   string // asked by this program
	Assignee  string // that this person may decide; me is the token's owner
	Assigned  string // that is assigned to this person by name; me is the token's owner
	Decider   string // that this person decided; me is the token's owner
	Requester string // that this person made, or changed; me is the token's owner
	Everyone  bool   // what others are asked, too
	Label     string // with this label, name=value
	Text      string // that have this text in the question, its payload, its labels, or the name of its thread
	Order     string // of open gates: desc, asc or deadline
	Limit     int    // how many; 0 is all
}

// Gates yields gates: the inbox, unless the query says otherwise.
func (c *Client) Gates(ctx context.Context, q *GateQuery) iter.Seq2[*Gate, error] {
	if q == nil {
		q = &GateQuery{Everyone: true}
	}
	if !q.Everyone && q.Assignee == "" && q.Assigned == "" && q.Decider == "" && q.Requester == "" {
		return func(yield func(*Gate, error) bool) {
			yield(nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "assignee", Message: "names no person", Hint: "name one, or set Everyone to list what everybody is asked"})
		}
	}
	return exactList[*Gate](ctx, c, "/api/gates", given(
		"state", q.State, "thread", q.Thread, "question", q.Question, "program", q.Program, "assignee", q.Assignee, "assigned", q.Assigned, "decider", q.Decider,
		"requester", q.Requester, "label", q.Label, "q", q.Text, "order", q.Order), q.Limit)
}

// Gate returns a gate, with its decision once it has one. [posthouse.ErrNotFound].
func (c *Client) Gate(ctx context.Context, id posthouse.ID) (*Gate, error) {
	g := new(Gate)
	return g, c.ask(ctx, http.MethodGet, gatePath(id), nil, nil, g)
}

func gatePath(id posthouse.ID, below ...string) string {
	return "/api/gates" + Path(append([]string{string(id)}, below...)...)
}

// A Decided is what a decision led to.
type Decided struct {
	Checkpoint                     // that it led to; without an id where a vote is not enough yet, or the work takes longer than the server waits
	Vote       *posthouse.Decision `json:"vote,omitempty"`     // on a gate that asks several people
	Missing    int                 `json:"missing,omitempty"`  // how many approvals it still needs
	Gates      []posthouse.ID      `json:"gates,omitempty"`    // of the checkpoint, that still wait for people
	Location   string              `json:"location,omitempty"` // where the outcome will show
}

// Decide gives the answer to a gate, by its verdict, and waits until the thread rests again. By is the
// token's owner unless given. Shown, unless zero, is the hash of the gate that was looked at: with it
// the answer counts for that content only. [posthouse.ErrDecided] has the decision that came first.
func (c *Client) Decide(ctx context.Context, gate posthouse.ID, d posthouse.Decision) (*Decided, error) {
	body := map[string]any{}
	for name, value := range map[string]string{"by": d.By, "reason": d.Reason, "value": string(d.Value)} {
		if value != "" {
			body[name] = value
		}
	}
	if !d.Shown.IsZero() {
		body["shown"] = d.Shown
	}
	out := new(Decided)
	return out, c.ask(ctx, http.MethodPost, gatePath(gate, string(d.Verdict)), nil, body, out)
}

// AskAgain asks a question again that got no answer in time, and returns the new gate. The reason is
// on record and is shown to who is asked; it has at most 1,000 bytes, and may be "".
func (c *Client) AskAgain(ctx context.Context, gate posthouse.ID, reason string) (*posthouse.Gate, error) {
	g := new(posthouse.Gate)
	var body any
	if reason != "" {
		body = map[string]string{"reason": reason}
	}
	return g, c.ask(ctx, http.MethodPost, gatePath(gate, "ask-again"), nil, body, g)
}
