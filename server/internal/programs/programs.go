package programs

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/overview"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// A Program is one that clients see.
type Program struct {
	Info    posthouse.ProgramInfo
	Starter posthouse.JSONStarter // begins runs of it; nil: this server begins no runs
}

// A Resumer makes a runner look at a branch at once. Without one, or after an error, the runner
// finds it by itself.
type Resumer interface {
	Resume(ctx context.Context, thread, branch string) error
}

// Programs are /api/programs. Make them with [New].
type Programs struct {
	all    []Program // by name
	ledger *ledger.Ledger
	asked  *inbox.Memory // of lists
	runner Resumer
	log    *slog.Logger
}

// New returns the resource of some programs; runner and asked, which keeps what was read of questions, may be nil.
func New(all []Program, l *ledger.Ledger, asked *inbox.Memory, runner Resumer, log *slog.Logger) *Programs {
	all = slices.Clone(all)
	for i := range all {
		all[i].Info.Starts = all[i].Starter != nil
		all[i].Info.Questions = slices.Clone(all[i].Info.Questions)
		for j := range all[i].Info.Questions {
			all[i].Info.Questions[j].Declared = true
		}
	}
	slices.SortFunc(all, func(a, b Program) int { return cmp.Compare(a.Info.Name, b.Info.Name) })
	return &Programs{all, l, asked, runner, log}
}

// defaultLimit is how many programs a page has; maxLimit bounds what a client may ask for.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// Routes are the routes of programs.
func (ps *Programs) Routes() []*api.Route {
	const one = "/api/programs/{program}"
	return []*api.Route{
		{
			Method: http.MethodGet, Path: "/api/programs", Role: tokens.Viewer, Summary: "List the programs that are served", Handle: ps.list,
			Notes: "By name, without schemas and pictures.",
			Query: []api.Param{
				{Name: "limit", Kind: api.IntParam, Max: maxLimit, Def: "100", Help: "how many"},
				{Name: "cursor", Kind: api.TextParam, Help: "go on after this: next of the page before"}, api.FieldsParam(),
			},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of programs", Body: api.List[posthouse.ProgramInfo]{}, Example: exampleList}},
		},
		{
			Method: http.MethodGet, Path: one, Role: tokens.Viewer, Summary: "Show a program", Handle: api.Show(ps.show),
			Notes:   "With JSON Schemas of its input and its state, its graph, also as a picture, and its questions: those that it says it asks, and up to 100 others that it has asked so far (asked), as the newest gate of each has them. 404 lists the programs that there are.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "how the program describes itself", Body: posthouse.ProgramInfo{}, Example: exampleProgram}},
		},
		{
			Method: http.MethodGet, Path: one + "/standing", Role: tokens.Viewer, Summary: "Count where a program's threads are", Handle: api.Show(ps.standing),
			Notes:   "Threads that have not ended, by the nodes that their branches are at and by the versions of these. The newest 20,000 threads of the program are looked at, and 1,000 of them that have not ended. GET /api/threads lists them, with graph, node and version.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "how many threads are where", Body: overview.Standing{}, Example: exampleStanding}},
		},
		{
			Method: http.MethodPost, Path: one + "/runs", Role: tokens.Operator, Summary: "Begin a run of a program", Handle: api.Take(ps.start),
			Notes: "The run is on record when the answer comes, and goes on if the client leaves. The input is checked by the program's schema: 400 names the field at fault and says what is wanted. " +
				"A thread that exists already is 409. With startAt the run waits for its time: its thread is listed as waiting until then, and is cancelled as any other. Follow the run at events, see where it stands at location; its questions are in GET /api/gates.",
			State: true, Body: startBody{}, Example: exampleStart,
			Answers: []api.Answer{{Status: http.StatusCreated, Help: "the run is on record", Body: ProgramRun{}, Example: exampleRun}},
		},
	}
}

func (ps *Programs) list(w http.ResponseWriter, r *api.Request) error {
	limit, after := r.Number("limit", defaultLimit), r.Query["cursor"]
	page := api.List[posthouse.ProgramInfo]{}
	for _, p := range ps.all {
		if r.Has("cursor") && p.Info.Name <= after {
			continue
		}
		if len(page.Items) == limit {
			page.Next = page.Items[limit-1].Name
			break
		}
		p.Info.Input, p.Info.State, p.Info.Picture, p.Info.Graph = nil, nil, "", nil
		p.Info.Questions = slices.Clone(p.Info.Questions)
		for i := range p.Info.Questions {
			p.Info.Questions[i].Payload = nil
		}
		page.Items = append(page.Items, p.Info)
	}
	return api.WriteList(w, r, page)
}

func (ps *Programs) show(r *api.Request) (*posthouse.ProgramInfo, error) {
	p, err := ps.find(r.Name("program"))
	if err != nil {
		return nil, err
	}
	info := p.Info
	return &info, ps.addAsked(r.Context(), &info)
}

func (ps *Programs) standing(r *api.Request) (*overview.Standing, error) {
	p, err := ps.find(r.Name("program"))
	if err != nil {
		return nil, err
	}
	return overview.Stand(r.Context(), ps.ledger, p.Info.Name)
}

// find returns a program. The error of one that is unknown lists those that there are.
func (ps *Programs) find(name string) (*Program, error) {
	var names []string
	for i := range ps.all {
		if ps.all[i].Info.Name == name {
			return &ps.all[i], nil
		}
		names = append(names, ps.all[i].Info.Name)
	}
	e := problem.NotFound("program", name)
	e.Hint = "no program is served here"
	if len(names) > 0 {
		e.Hint = "there is " + strings.Join(names, ", ")
	}
	return nil, e
}
