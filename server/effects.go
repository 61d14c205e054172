package server

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/verbatim"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// A Grant is a gate as a license for effects, as the API shows it.
type Grant struct {
	Asked
	Gate       *posthouse.Gate   `json:"gate"`
	Status     grants.Status     `json:"status" doc:"proposed, decided, released, executed or unknown"`
	Approval   grants.Approval   `json:"approval,omitempty" doc:"whether effects may still run under the decision: usable, lapsed (it is asked for again), used, or ended by a release or with its branch; absent: it licenses none"`
	Licenses   int               `json:"licenses" doc:"how many effects an approval licenses; 0: none, the answer is one to a question"`
	ValidUntil time.Time         `json:"validUntil,omitzero" doc:"the approval is asked for again from then on"`
	Content    json.RawMessage   `json:"content,omitempty" doc:"what was approved: as it was shown, or as it was edited"`
	Uses       []Use             `json:"uses" doc:"what ran under the decision, in the order it began"`
	Before     *diff.AskedBefore `json:"before,omitempty" doc:"what the gate showed that this one supersedes"`
	Duplicates []inbox.Duplicate `json:"duplicates,omitempty" doc:"of an open gate: questions of its name on other branches of its thread and in its forks, as GET /api/gates/{id} has them"`
	Why        string            `json:"why,omitempty" doc:"why it was decided, as GET /api/gates/{id} has it"`
	AskAgain   bool              `json:"askAgain" doc:"nobody answered it, and the caller may have it asked again"`
}

// A Use is an effect that ran, or may have run, under a decision.
type Use struct {
	grants.Use
	Thread  string          `json:"thread"`
	Outcome json.RawMessage `json:"outcome,omitempty" doc:"the recorded result"`
	Codec   string          `json:"codec,omitempty" doc:"of a result that is not JSON: it is shown as base64"`
}

// An Effect is something that acted on the world: what ran, who approved it, and
// what exactly.
type Effect struct {
	grants.Use
	Question string              `json:"question,omitempty"`
	Decision *posthouse.Decision `json:"decision,omitempty" doc:"what licensed it; absent: nobody approved it"`
	Content  json.RawMessage     `json:"content,omitempty" doc:"what was approved: as it was shown, or as it was edited"`
	Error    *problem.Details    `json:"error,omitempty" doc:"why the gate that it names cannot be read"`
}

// effects are /api/gates/{id}/grant and /api/threads/{id}/effects: what acted on the world, and
// who approved it.
type effects struct{ ledger *ledger.Ledger }

func (es *effects) Routes() []*api.Route {
	return []*api.Route{
		{
			Method: http.MethodGet, Path: "/api/gates/{id}/grant", Role: tokens.Viewer, Summary: "Show what became of a gate's decision", Handle: api.Show(es.get),
			Notes: "An approval of what gate.Propose shows licenses effects, on the branch where it was given: " +
				"proposed (it waits), decided (nothing ran yet), released (begun, and still running), executed, or unknown (begun, and no outcome is on record).",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the gate, the content approved, and what ran under it", Body: Grant{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: "/api/threads/{id}/effects", Role: tokens.Viewer, Summary: "List what acted on the world in a thread", Handle: es.list,
			Notes: "Oldest first, in released versions too: every effect under a gate's decision with the person and the content, and those of class external that nobody approved, without a decision.",
			Query: []api.Param{
				{Name: "ungranted", Kind: api.BoolParam, Def: "false", Help: "true: only those that nobody approved"}, limitParam,
				{Name: "cursor", Kind: api.IntParam, Help: "go on after so many: next of the page before"}, fieldsParam,
			},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of effects", Body: api.List[*Effect]{}, Media: ""}},
		},
	}
}

func (es *effects) get(r *api.Request) (*Grant, error) {
	g, err := ledger.ReadGrant(r.Context(), es.ledger, r.ID("id"))
	if err != nil {
		return nil, err
	}
	v := &Grant{
		Asked: askedBy(g.Gate),
		Gate:  g.Gate, Status: g.Status, Approval: g.Approval, Licenses: g.Gate.Uses, Content: g.Gate.Licensed(), Uses: []Use{}, Before: diff.Before(r.Context(), es.ledger, g.Gate),
		AskAgain: r.Actor.Role.May(tokens.Operator) && deciders.MayAskAgain(g.Gate, es.ledger.Now()) == nil,
	}
	v.Duplicates, err = inbox.Duplicates(r.Context(), es.ledger, g.Gate)
	if err != nil {
		return nil, err
	}
	v.Why, err = inbox.Why(r.Context(), es.ledger, g.Gate)
	if err != nil {
		return nil, err
	}
	if d := g.Gate.Decision; d != nil && g.Gate.ValidFor > 0 {
		v.ValidUntil = d.At.Add(g.Gate.ValidFor)
	}
	for _, u := range g.Uses {
		x := Use{Use: u, Thread: g.Gate.Thread}
		if u.Result.Codec != "" {
			plain := false
			x.Outcome, plain = verbatim.Show(u.Result)
			if !plain {
				x.Codec = u.Result.Codec
			}
		}
		v.Uses = append(v.Uses, x)
	}
	return v, nil
}

func (es *effects) list(w http.ResponseWriter, r *api.Request) error {
	all, err := ledger.Effects(r.Context(), es.ledger, r.Name("id"))
	if err != nil {
		return err
	}
	limit, begin, next, page := r.Number("limit", defaultLimit), r.Number("cursor", 0), "", []*Effect{}
	gates := map[posthouse.ID]*Effect{}
	for i := min(begin, len(all)); i < len(all); i++ {
		if r.Query["ungranted"] == "true" && all[i].Grant != "" {
			continue
		}
		if len(page) == limit {
			next = strconv.Itoa(i)
			break
		}
		id := all[i].Grant
		if gates[id] == nil {
			gates[id] = es.licensed(w, r, id)
		}
		e := *gates[id]
		e.Use = all[i]
		page = append(page, &e)
	}
	return api.WriteList(w, r, api.List[*Effect]{Items: page, Next: next})
}

// licensed returns an effect with what is known of the gate that licensed it. For an
// empty id that is nothing.
func (es *effects) licensed(w http.ResponseWriter, r *api.Request, id posthouse.ID) *Effect {
	if id == "" {
		return &Effect{}
	}
	g, err := es.ledger.Gate(r.Context(), id)
	if err != nil {
		return &Effect{Error: unread(w, err)}
	}
	return &Effect{Question: cmp.Or(g.Text, g.Name), Decision: g.Decision, Content: g.Licensed()}
}
