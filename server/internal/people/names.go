package people

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/people"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/internal/census"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// Where a server knows a name from, beside its store.
const (
	byToken = "token" // it has an access token here
	byLogin = "login" // it logged in
)

// A Decides says whether a person may decide at all.
type Decides string

// The answers.
const (
	Yes     Decides = "yes"     // their role allows it, they did before, or a program asks them
	No      Decides = "no"      // their role does not
	Unknown Decides = "unknown" // the name alone is known, or not even that
)

// A KnownPerson is a name that this server or its store knows.
type KnownPerson struct {
	Name    string      `json:"name"`
	Known   []string    `json:"known" doc:"where from: token, an access token; login, they logged in; decided, they decided or voted; asked, a program asks them; delegate or substitute, somebody named them"`
	Decides Decides     `json:"decides" doc:"yes: their role allows it, they did before, or a program asks them; no: their role does not; unknown: the name alone is known"`
	Why     string      `json:"why,omitempty" doc:"why that is not yes"`
	Mixed   bool        `json:"mixed,omitempty" doc:"the name has letters of two alphabets that people mistake for one another, as Latin and Cyrillic"`
	Barred  string      `json:"barred,omitempty" doc:"with gate: why the caller cannot hand it to them"`
	Role    tokens.Role `json:"role,omitempty" doc:"the strongest that a token or their newest login has; for operators"`
	Last    *time.Time  `json:"lastAt,omitempty" doc:"when the name was last on record or logged in; for operators"`
}

// Names are /api/people. Make them with [NewNames].
type Names struct {
	ledger *ledger.Ledger
	tokens *tokens.List
	now    func() time.Time
	// signedIn says that people may log in with accounts elsewhere. Then not all names are known, nor which
	// role a person will have.
	signedIn bool
	stored   *census.Recent[*stored]
}

// stored is what is read of the store now and then.
type stored struct {
	people map[string]people.Person
	logins map[string]authlog.Seen
	more   bool
}

const maxLogins = 2000 // entries of logins that are read

// NewNames returns the names of a Ledger's store and a server's tokens. Questions that were read stay in
// memory. SignedIn says that people may log in with accounts elsewhere.
func NewNames(l *ledger.Ledger, memory *inbox.Memory, list *tokens.List, life *limit.Lifetime, now func() time.Time, signedIn bool) *Names {
	enter := func() (context.Context, func(), error) {
		leave, err := life.Enter()
		return life.Context(), leave, err
	}
	return &Names{l, list, now, signedIn, census.NewRecent(func(ctx context.Context) (*stored, error) { return read(ctx, l, memory) }, now, enter)}
}

func read(ctx context.Context, l *ledger.Ledger, memory *inbox.Memory) (*stored, error) {
	found, err := people.Of(ctx, l, &people.Query{Memory: memory})
	if err != nil {
		return nil, err
	}
	s := &stored{people: map[string]people.Person{}, more: found.More}
	for _, p := range found.People {
		s.people[p.Name] = p
	}
	var older bool
	s.logins, older, err = authlog.People(ctx, l, maxLogins)
	s.more = s.more || older
	return s, err
}

// Routes are the lines of the table.
func (ns *Names) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodGet, Path: "/api/people", Role: tokens.Approver, Summary: "List people who decide, or could", Handle: ns.list,
		Notes: "Names of access tokens, of logins, and of those who decided, are asked, or were named as delegates or substitutes, by name. " +
			"What the store has is looked up at most each 15 seconds, in its newest questions; more says that it has older ones. " +
			"Where people log in with accounts elsewhere, there are names that nobody here knows yet.",
		Query: []api.Param{
			{Name: "gate", Kind: api.IDParam, Help: "say of each why the caller cannot hand them this gate"},
			{Name: "by", Kind: api.TextParam, Help: "with gate: whose right it is, if not the caller's; needs the role operator"},
			{Name: "name", Kind: api.TextParam, Help: "this name alone, also if it is not known"},
			{Name: "prefix", Kind: api.TextParam, Help: "names that start so"},
			{Name: "limit", Kind: api.IntParam, Max: 1000, Def: "500", Help: "how many"},
			{Name: "cursor", Kind: api.TextParam, Help: "go on after this: next of the page before"}, api.FieldsParam(),
		},
		Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of names", Body: api.List[*KnownPerson]{}, Media: ""}},
	}}
}

func (ns *Names) list(w http.ResponseWriter, r *api.Request) error {
	barred, err := ns.bars(r)
	if err != nil {
		return err
	}
	all, more, err := ns.all(r.Context())
	if err != nil {
		return err
	}
	if name := r.Query["name"]; name != "" {
		p := all[name]
		if p == nil {
			if err := posthouse.CheckDecider("name", name); err != nil {
				return err
			}
			p = &KnownPerson{Name: name, Known: []string{}}
			ns.judge(p)
		}
		all = map[string]*KnownPerson{name: p}
	}
	page := api.List[*KnownPerson]{More: more}
	most := r.Number("limit", 500)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasPrefix(name, r.Query["prefix"]) || name <= r.Query["cursor"] {
			continue
		}
		if len(page.Items) == most {
			page.Next = page.Items[most-1].Name
			break
		}
		p := all[name]
		p.Barred = barred(name)
		if !r.Actor.Role.May(tokens.Operator) {
			p.Role, p.Last = "", nil
		}
		page.Items = append(page.Items, p)
	}
	return api.WriteList(w, r, page)
}

// bars returns why a gate that was asked for cannot be handed to a name.
func (ns *Names) bars(r *api.Request) (func(name string) string, error) {
	if r.Query["gate"] == "" {
		if r.Query["by"] != "" {
			return nil, posthouse.Invalid("by", "goes with gate")
		}
		return func(string) string { return "" }, nil
	}
	by, actor, err := auth.ActingFor(r.Actor, r.Query["by"])
	if err != nil {
		return nil, err
	}
	g, err := ns.ledger.Gate(r.Context(), posthouse.ID(r.Query["gate"]))
	if err != nil {
		return nil, err
	}
	return func(name string) string {
		err := deciders.MayHand(g, &posthouse.Delegation{By: by, Actor: actor, To: name}, ns.ledger.Now())
		if err == nil {
			return ""
		}
		return problem.Client(err).Message
	}, nil
}

// all returns what is known of each name, and whether the store has names that were not looked at.
func (ns *Names) all(ctx context.Context) (map[string]*KnownPerson, bool, error) {
	known, err := ns.tokens.All()
	if err != nil {
		return nil, false, err
	}
	s, err := ns.stored.Get(ctx)
	if s == nil {
		if err != nil {
			return nil, false, err
		}
		s = &stored{more: true} // it takes longer than a reader waits
	}
	all := map[string]*KnownPerson{}
	of := func(name string) *KnownPerson {
		p := all[name]
		if p == nil {
			p = &KnownPerson{Name: name, Known: []string{}}
			all[name] = p
		}
		return p
	}
	for i := range known {
		if t := &known[i]; t.Role != tokens.Worker && posthouse.CheckDecider("name", t.Name) == nil {
			of(t.Name).from(byToken, t.LastUsedAt)
			if !t.Expired(ns.now()) {
				of(t.Name).take(t.Role)
			}
		}
	}
	for name, l := range s.logins {
		if posthouse.CheckDecider("name", name) != nil {
			continue
		}
		p := of(name)
		p.from(byLogin, l.At)
		if l.Account { // the role of a token is known from the token
			p.take(l.Role)
		}
	}
	for name, had := range s.people {
		p := of(name)
		for _, from := range had.Known {
			p.from(string(from), had.Last)
		}
	}
	for _, p := range all {
		ns.judge(p)
	}
	return all, s.more, nil
}

func (p *KnownPerson) from(source string, at time.Time) {
	if !slices.Contains(p.Known, source) {
		p.Known = append(p.Known, source)
	}
	if !at.IsZero() && (p.Last == nil || at.After(*p.Last)) {
		p.Last = &at
	}
}

// take keeps the stronger role.
func (p *KnownPerson) take(role tokens.Role) {
	if p.Role == "" || role.May(p.Role) {
		p.Role = role
	}
}

// judge says whether a person may decide, from what is known of them.
func (ns *Names) judge(p *KnownPerson) {
	p.Mixed = text.MixedScripts(p.Name)
	is := func(source string) bool { return slices.Contains(p.Known, source) }
	switch {
	case p.Role.May(tokens.Approver), is(string(people.Decided)), is(string(people.Asked)):
		p.Decides = Yes
	case p.Role != "" && !ns.signedIn:
		p.Decides, p.Why = No, p.Name+" has the role "+string(p.Role)+" and cannot decide"
	case p.Role != "":
		p.Decides, p.Why = Unknown, p.Name+" had the role "+string(p.Role)+" so far and could not decide"
	case is(byToken):
		p.Decides, p.Why = Unknown, "the access token of "+p.Name+" has expired"
	case is(byLogin):
		p.Decides, p.Why = Unknown, "the access token with which "+p.Name+" logged in is gone"
	case len(p.Known) > 0:
		p.Decides, p.Why = Unknown, p.Name+" is known only as a name that somebody wrote"
	default:
		p.Decides, p.Why = Unknown, "there is no access token, login, decision or question with the name "+p.Name
	}
}

// check looks at the name of somebody who shall decide. The warning says what is not known of them;
// [posthouse.ErrForbidden] for one who cannot decide.
func (ns *Names) check(ctx context.Context, name string) (warning string, err error) {
	all, more, err := ns.all(ctx)
	if err != nil { // the names are no part of what is asked for
		return "it could not be looked up whether " + name + " may decide", nil
	}
	p := all[name]
	if p == nil {
		p = &KnownPerson{Name: name}
		ns.judge(p)
		if more {
			p.Why += " among the newest"
		}
	}
	switch p.Decides {
	case No:
		return "", &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: p.Why, Hint: "name somebody else, or have an access made for them: posthouse token create --name NAME --role approver",
		}
	case Unknown:
		return p.Why, nil
	}
	return "", nil
}
