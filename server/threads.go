package server

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/overview"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// threads are /api/threads and /api/coordinations: lines of work, their logs and their
// deletion.
type threads struct {
	ledger    *ledger.Ledger
	pageBytes int // of records on one page of a log
}

func (ts *threads) Routes() []*api.Route {
	const path = "/api/threads"
	deleted := []api.Answer{{Status: http.StatusOK, Help: "what went", Body: retain.Deleted{}, Media: ""}}
	return []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "List threads", Handle: ts.list,
			Notes: "The thread with the newest entry first: exactly within a page, by the minute from page to page. next is good for the same order. " +
				"Who pages by activity sees each thread that rests exactly once; one that gets an entry meanwhile moves to the front and may be missing from the pages that follow, where the next list begins with it. By name (asc, desc) pages miss none. " +
				"The filters unknown, node, version and by read threads' logs: a page of theirs looks at 20,000 threads at most, reads 1,000 at most, and may be short, or empty, and have a next. They are not counted. The same holds for since, until and status=saved, which read summaries.",
			Query: []api.Param{
				{Name: "status", Kind: api.EnumParam, Values: append(slices.Clone(statusValues), overview.Saved), Help: "with this status, and with node or version that of the branch there; saved: without one, since it was saved by hand and nothing runs it"},
				{Name: "graph", Kind: api.TextParam, Help: "of this program"},
				{Name: "label", Kind: api.TextParam, Help: "with this label: name=value"},
				{Name: "q", Kind: api.TextParam, Help: "that a search finds: the name or a label's value begins so, or the name ends so (4 characters or more)"},
				{Name: "counts", Kind: api.BoolParam, Def: "false", Help: "true: say how many threads of each status there are, by the same filters, on all pages; of each status at most 1,000 are counted"},
				{Name: "unknown", Kind: api.BoolParam, Def: "false", Help: "true: with effects of an unknown outcome only"},
				{Name: "node", Kind: api.TextParam, Help: "with a branch that has not ended and is at this node: it runs next, waits there, or failed there"},
				{Name: "version", Kind: api.TextParam, Help: "with a branch that has not ended, of this version of its program"},
				{Name: "by", Kind: api.TextParam, Help: "that this person or token began"},
				{Name: "since", Kind: api.TimeParam, Help: "begun then or later"}, {Name: "until", Kind: api.TimeParam, Help: "begun before then"},
				{Name: "waiting", Kind: api.BoolParam, Def: "false", Help: "true: with open gates only"},
				{Name: "released", Kind: api.BoolParam, Def: "false", Help: "true: with released versions only, also those that have not begun anew"}, threadOrder, limitParam, cursorParam, fieldsParam,
			},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of threads", Body: api.List[*Thread]{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: path + "/{id}", Role: tokens.Viewer, Summary: "Show a thread", Handle: api.Show(ts.get),
			Notes:   "With version it is the thread as it was released. Its rows and checkpoints are those of this generation: GET /api/threads/{id}/outline?generation= and /api/checkpoints?thread=&generation=.",
			Query:   []api.Param{{Name: "version", Kind: api.TextParam, Help: "a released version, by its number or a tag; the current generation unless given"}},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the thread's summary", Body: Thread{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: path + "/{id}/log", Role: tokens.Viewer, Summary: "Read a thread's log", Handle: ts.log,
			Notes:   "Every record, in the log's order; each entry was checked against its hash.",
			Query:   []api.Param{{Name: "order", Kind: api.EnumParam, Values: []string{"asc", "desc"}, Def: "asc", Help: "desc is newest first"}, limitParam, {Name: "cursor", Kind: api.IntParam, Help: "go on after this sequence number: next of the page before"}, fieldsParam},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of entries", Body: api.List[*LogEntry]{}, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path + "/{id}", Role: tokens.Operator, Summary: "Delete a thread", Handle: ts.delete,
			Notes: "Threads whose end it waited for are cancelled. If that fails the thread is gone all the same, and the answer has an error beside the counts.",
			Query: []api.Param{reasonParam}, Answers: []api.Answer{{Status: http.StatusOK, Help: "what went", Body: DeletedThread{}, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: "/api/coordinations/{name}", Role: tokens.Operator, Summary: "Delete a coordination's checkpoints", Handle: api.Show(ts.deleteCoordination),
			Query: []api.Param{reasonParam}, Answers: deleted,
		},
	}
}

func (ts *threads) list(w http.ResponseWriter, r *api.Request) error {
	q := posthouse.ThreadQuery{
		Status: overview.Status(r.Query["status"]), Graph: r.Query["graph"], Waiting: r.Query["waiting"] == "true", Released: r.Query["released"] == "true",
		Descending: r.Query["order"] == "desc", Newest: r.Query["order"] == "newest" || r.Query["order"] == "",
	}
	if err := overview.Narrow(&q, r.Query["label"], r.Query["q"]); err != nil {
		return err
	}
	if err := overview.GoOn(r.Context(), ts.ledger, &q, r.Query["cursor"]); err != nil {
		return err
	}
	page, next, err := ts.page(r, q)
	if err != nil {
		return err
	}
	shown, err := showThreads(r.Context(), ts.ledger, page)
	if err != nil {
		return err
	}
	if q.Newest {
		slices.SortStableFunc(shown, func(a, b *Thread) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	}
	out := api.List[*Thread]{Items: shown, Next: next}
	if r.Query["counts"] == "true" {
		out.Counts, err = overview.Count(r.Context(), ts.ledger, q, overview.MaxCount)
		if err != nil {
			return err
		}
	}
	return api.WriteList(w, r, out)
}

// page finds the threads of a list, by the store where it can.
func (ts *threads) page(r *api.Request, q posthouse.ThreadQuery) ([]*posthouse.ThreadInfo, string, error) {
	limit := r.Number("limit", defaultLimit)
	f := overview.Filter{Unknown: r.Query["unknown"] == "true", Saved: r.Query["status"] == overview.Saved, Node: r.Query["node"], Version: r.Query["version"],
		By: r.Query["by"], Since: r.Millis("since"), Until: r.Millis("until")}
	if f == (overview.Filter{}) {
		q.Limit = limit + 3
		return api.Collect(overview.OfPeople(ts.ledger.Threads(r.Context(), q)), limit, func(t *posthouse.ThreadInfo) string { return overview.Cursor(&q, t) })
	}
	if r.Query["counts"] == "true" {
		return nil, "", posthouse.Invalid("counts", "cannot be joined with unknown, node, version, by, since, until or status=saved: what these find is not counted")
	}
	return overview.Find(r.Context(), ts.ledger, q, &f, limit)
}

func (ts *threads) get(r *api.Request) (*Thread, error) {
	if r.Has("version") {
		t, rel, err := overview.Version(r.Context(), ts.ledger, r.Name("id"), r.Query["version"])
		if err != nil {
			return nil, err
		}
		return &Thread{ThreadInfo: *t, CreatedAt: toTime(t.Created), UpdatedAt: rel.At, Release: rel}, nil
	}
	t, err := ts.ledger.Thread(r.Context(), r.Name("id"))
	if err != nil {
		return nil, err
	}
	return showThread(r.Context(), ts.ledger, t)
}

func deleteOptions(r *api.Request) *retain.DeleteOptions {
	return &retain.DeleteOptions{By: r.Actor.Name, Reason: r.Query["reason"]}
}

// A DeletedThread says what a thread's deletion took.
type DeletedThread struct {
	retain.Deleted
	Error *problem.Details `json:"error,omitempty" doc:"what failed once the thread was gone, such as cancelling what it waited for"`
}

func (ts *threads) delete(w http.ResponseWriter, r *api.Request) error {
	d, err := retain.DeleteThread(r.Context(), ts.ledger, r.Name("id"), deleteOptions(r))
	if d == nil {
		return err
	}
	out := DeletedThread{Deleted: *d}
	if err != nil {
		out.Error = failedAfter(w, "the thread is gone", err)
	}
	return api.WriteJSON(w, http.StatusOK, out)
}

func (ts *threads) deleteCoordination(r *api.Request) (*retain.Deleted, error) {
	return retain.DeleteCoordination(r.Context(), ts.ledger, r.Name("name"), deleteOptions(r))
}

// A LogEntry is an entry of a thread's log as the API shows it.
type LogEntry struct {
	Seq        uint64             `json:"seq"`
	Generation uint32             `json:"generation" doc:"the thread's generation; a released one is the version of that number"`
	At         time.Time          `json:"at"`
	Hash       posthouse.Hash     `json:"hash"`
	Prev       posthouse.Hash     `json:"prev,omitzero" doc:"what the entry before must link to"`
	Signed     bool               `json:"signed" doc:"whether the entry itself is signed; verify says what signatures cover"`
	Records    []*posthouse.Event `json:"records" doc:"what the entry put on record, in its order"`
}

func (ts *threads) log(w http.ResponseWriter, r *api.Request) error {
	thread := r.Name("id")
	limit, next, page, size := r.Number("limit", defaultLimit), "", []*LogEntry{}, 0
	rng := posthouse.Range{Reverse: r.Query["order"] == "desc", Limit: limit + 1}
	if c := r.Number("cursor", 0); c > 0 && rng.Reverse {
		rng.To = uint64(c) - 1
		if rng.To == 0 {
			return api.WriteList(w, r, api.List[*LogEntry]{})
		}
	} else if c > 0 {
		rng.From = uint64(c) + 1
	}
	for e, err := range ts.ledger.Log(r.Context(), thread, rng) {
		if err != nil {
			return err
		}
		if len(page) == limit || len(page) > 0 && size > ts.pageBytes {
			next = strconv.FormatUint(page[len(page)-1].Seq, 10)
			break
		}
		for i := range e.Records {
			if k := e.Records[i].Kind; k == posthouse.RecordGate || k == posthouse.RecordDecision || k == posthouse.RecordSignal {
				size += e.Records[i].Size
			}
		}
		page = append(page, &LogEntry{Seq: e.Seq, Generation: e.Generation, At: e.At, Hash: e.Hash, Prev: e.Prev, Signed: len(e.Sig) > 0, Records: e.Events})
	}
	if len(page) == 0 && !r.Has("cursor") { // the log of a deleted thread still has its last record
		return problem.NotFound("thread", thread)
	}
	return api.WriteList(w, r, api.List[*LogEntry]{Items: page, Next: next})
}
