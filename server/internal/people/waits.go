package people

import (
	"net/http"
	"time"

	"github.com/posthouse/posthouse/holders"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/waits"
)

// Waits are /api/waits and /api/processes. Make them with [NewWaits].
type Waits struct {
	ledger   *ledger.Ledger
	reporter *waits.Reporter
}

// NewWaits returns the figures of a Ledger's store. Reports keep in memory what they read.
func NewWaits(l *ledger.Ledger, memory *inbox.Memory) *Waits {
	return &Waits{l, waits.NewReporter(l, memory)}
}

// Routes are the lines of the table.
func (ws *Waits) Routes() []*api.Route {
	return []*api.Route{
		{
			Method: http.MethodGet, Path: "/api/waits", Role: tokens.Operator, Summary: "Report how long questions waited for people", Handle: api.Show(ws.report),
			Notes: "By question and by person: what is open now, and what was decided, expired or was withdrawn in the period. The work is bounded: more says that not all of the period counts. " +
				"Callers that ask for the same at the same time share a report; it is never older than the request.",
			Query: []api.Param{
				{Name: "from", Kind: api.TimeParam, Help: "what was decided before does not count; 30 days before to unless given"},
				{Name: "to", Kind: api.TimeParam, Help: "nor what was decided from then on; now unless given"},
				{Name: "question", Kind: api.TextParam, Help: "of this name"}, {Name: "program", Kind: api.TextParam, Help: "asked by this program"},
				{Name: "limit", Kind: api.IntParam, Max: 200_000, Def: "20000", Help: "how many questions are read at most"},
			},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the report", Body: waits.Report{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: "/api/processes", Role: tokens.Operator, Summary: "List processes with the leases they hold", Handle: api.Show(ws.processes),
			Notes:   "Which process runs which threads now, and which of them is silent. Threads that wait are held by no process.",
			Query:   []api.Param{{Name: "limit", Kind: api.IntParam, Max: holders.Most, Def: "10000", Help: "how many threads are looked at"}},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the processes", Body: holders.Report{}, Media: ""}},
		},
	}
}

func (ws *Waits) report(r *api.Request) (*waits.Report, error) {
	q := waits.Query{Question: r.Query["question"], Program: r.Query["program"], Look: r.Number("limit", 0)}
	for name, at := range map[string]*time.Time{"from": &q.From, "to": &q.To} {
		if r.Query[name] != "" {
			*at = time.UnixMilli(int64(r.Millis(name)))
		}
	}
	return ws.reporter.Of(r.Context(), &q)
}

func (ws *Waits) processes(r *api.Request) (*holders.Report, error) {
	return holders.List(r.Context(), ws.ledger, r.Number("limit", 0))
}
