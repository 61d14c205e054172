package lookup

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/shortid"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/overview"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// Limits of one search.
const (
	maxFound = 50    // places in one answer
	maxLook  = 3_000 // checkpoints, and open questions, that part of an id is compared with
)

// A Lookup is the resource. Make it with [New].
type Lookup struct{ ledger *ledger.Ledger }

// New returns the search over a Ledger.
func New(l *ledger.Ledger) *Lookup { return &Lookup{l} }

// Routes are the lines of the table.
func (u *Lookup) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodGet, Path: "/api/find", Role: tokens.Viewer, Summary: "Find what an id leads to", Handle: u.get,
		Notes: "The id of a checkpoint or a gate, whole, its ending or beginning (4 characters or more), or shortened as in 01a2…667e; THREAD#N for an entry; or the text of a search for threads (q of GET /api/threads). " +
			"Threads come first, each place once. Parts of ids are compared with the newest 3,000 checkpoints, with what these asked, and with 3,000 open questions; an older id is found whole.",
		Query: []api.Param{
			{Name: "id", Kind: api.TextParam, Help: "what is looked for; required"},
			{Name: "limit", Kind: api.IntParam, Max: maxFound, Def: "20", Help: "how many"},
		},
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the places; none where nothing is found", Body: api.List[Place]{}, Example: example}},
	}}
}

var example = json.RawMessage(`{"items":[{"kind":"gate","id":"gate-019a2f6e-7c1c-7000-9a01-6f2d8e4b1c33","thread":"order-1234","branch":"main","seq":2,"checkpoint":"019a2f6e-7c1b-7d1e-8f00-3b7d1c2a9e41","about":"refund","at":"2026-11-26T12:00:00.5Z"}]}`)

// Kinds of places.
const (
	kindThread     = "thread"
	kindCheckpoint = "checkpoint"
	kindGate       = "gate"
)

// A Place is where an id leads.
type Place struct {
	Kind       string       `json:"kind" doc:"thread, checkpoint or gate"`
	ID         string       `json:"id" doc:"the whole id, or the thread's name"`
	Thread     string       `json:"thread" doc:"the thread it is in"`
	Branch     string       `json:"branch,omitempty" doc:"the branch it is on; absent for a thread"`
	Seq        uint64       `json:"seq" doc:"the number of its entry in the thread's log; of a thread, its last"`
	Checkpoint posthouse.ID `json:"checkpoint,omitempty" doc:"of a gate: the checkpoint that opened it, where that is known without reading its thread"`
	About      string       `json:"about,omitempty" doc:"for people: the program of a thread, kind and node of a checkpoint, kind or name of a gate"`
	At         time.Time    `json:"at,omitzero" doc:"when it was made; of a thread, the minute of its last entry"`
}

// A search collects places.
type search struct {
	*Lookup
	r     *api.Request
	limit int
	found []Place
	seen  map[string]bool // kinds and ids
}

// add adds a place, once. It reports whether there is room for more.
func (s *search) add(p Place) bool {
	if key := p.Kind + " " + p.ID; !s.seen[key] && !s.full() {
		s.seen[key] = true
		s.found = append(s.found, p)
	}
	return !s.full()
}

func (s *search) full() bool { return len(s.found) >= s.limit }

func (u *Lookup) get(w http.ResponseWriter, r *api.Request) error {
	text := r.Query["id"]
	if text == "" {
		return posthouse.Invalid("id", "is required: what is looked for")
	}
	if len(text) > posthouse.MaxID {
		return posthouse.Invalid("id", "has %d bytes; the limit is %d", len(text), posthouse.MaxID)
	}
	s := &search{Lookup: u, r: r, limit: max(1, r.Number("limit", 20)), seen: map[string]bool{}}
	for _, look := range []func(string) error{s.threads, s.entry, s.whole, s.parts} {
		if err := look(text); err != nil {
			return err
		}
		if s.full() {
			break
		}
	}
	return api.WriteList(w, r, api.List[Place]{Items: s.found})
}

// threads adds the threads that a search for the text finds, the newest first.
func (s *search) threads(text string) error {
	q := posthouse.ThreadQuery{Newest: true, Limit: s.limit + 1}
	if err := overview.Narrow(&q, "", text); err != nil {
		return err
	}
	if t, err := s.ledger.Thread(s.r.Context(), text); err == nil && !posthouse.IsRuntimeThread(t.Thread) {
		s.add(placeOf(t)) // the one of this very name goes before those that begin so
	} else if err != nil && !absent(err) {
		return err
	}
	for t, err := range s.ledger.Threads(s.r.Context(), q) {
		if err != nil {
			return err
		}
		if !posthouse.IsRuntimeThread(t.Thread) && !s.add(placeOf(t)) {
			return nil
		}
	}
	return nil
}

func placeOf(t *posthouse.ThreadInfo) Place {
	return Place{Kind: kindThread, ID: t.Thread, Thread: t.Thread, Seq: t.Tail.Seq, About: t.Graph, At: time.UnixMilli(int64(t.Minute())).UTC()}
}

// entry adds what the entry has that THREAD#N names.
func (s *search) entry(text string) error {
	i := strings.LastIndexByte(text, '#')
	if i < 1 || posthouse.CheckThread("id", text[:i]) != nil {
		return nil
	}
	n, err := strconv.ParseUint(text[i+1:], 10, 63)
	if err != nil || n == 0 {
		return nil
	}
	for e, err := range s.ledger.Log(s.r.Context(), text[:i], posthouse.Range{From: n, To: n, Headers: true}) {
		if err != nil {
			return unlessAbsent(err)
		}
		for j := range e.Records {
			if h := e.Records[j].Checkpoint; h != nil {
				s.checkpoint(h)
			}
			if g := e.Records[j].Gate; g != nil {
				s.add(Place{Kind: kindGate, ID: string(g.ID), Thread: text[:i], Branch: g.Branch, Seq: n, About: g.Kind, At: e.Time().UTC()})
			}
		}
	}
	return nil
}

// whole adds the checkpoint or gate of a whole id, by the index of ids.
func (s *search) whole(text string) error {
	id := posthouse.ID(text)
	if id.Validate() != nil {
		return nil
	}
	h, err := s.ledger.GetHeader(s.r.Context(), id)
	switch {
	case err == nil:
		s.checkpoint(h)
	case !absent(err):
		return err
	}
	g, err := s.ledger.Gate(s.r.Context(), id)
	switch {
	case err == nil:
		s.add(Place{Kind: kindGate, ID: text, Thread: g.Thread, Branch: g.Branch, Seq: g.Seq, Checkpoint: g.Checkpoint, About: g.Name, At: g.CreatedAt.UTC()})
	case !absent(err):
		return err
	}
	return nil
}

// parts adds the newest checkpoints, the gates that they opened, and the open gates that have a part.
func (s *search) parts(text string) error {
	part, ok := shortid.Read(text)
	if !ok || shortid.IsWhole(text) {
		return nil
	}
	for h, err := range s.ledger.List(s.r.Context(), posthouse.Query{Descending: true, Limit: maxLook}) {
		if err != nil {
			return err
		}
		if posthouse.IsRuntimeThread(h.Thread) {
			continue
		}
		if part.Matches(string(h.ID)) {
			s.checkpoint(h)
		}
		for _, id := range h.Gates {
			if part.Matches(string(id)) {
				s.add(Place{Kind: kindGate, ID: string(id), Thread: h.Thread, Branch: h.Branch, Seq: h.Seq, Checkpoint: h.ID, At: h.CreatedAt.UTC()})
			}
		}
		if s.full() {
			return nil
		}
	}
	open := posthouse.ThreadQuery{Gates: true, Descending: true, Limit: maxLook}
	for t, err := range s.ledger.Threads(s.r.Context(), open) {
		if err != nil {
			return err
		}
		if g := &t.Waiting[0]; part.Matches(string(g.ID)) && !s.add(Place{Kind: kindGate, ID: string(g.ID), Thread: t.Thread, Branch: g.Branch, Seq: g.Seq, About: g.Kind}) {
			return nil
		}
	}
	return nil
}

func (s *search) checkpoint(h *posthouse.Header) {
	s.add(Place{
		Kind: kindCheckpoint, ID: string(h.ID), Thread: h.Thread, Branch: h.Branch, Seq: h.Seq,
		About: strings.TrimSpace(h.Kind + " " + h.Node), At: h.CreatedAt.UTC(),
	})
}

func unlessAbsent(err error) error {
	if absent(err) {
		return nil
	}
	return err
}

// absent reports whether an error says that there is no such thing, or nothing that can be read.
func absent(err error) bool {
	for _, is := range []error{posthouse.ErrNotFound, posthouse.ErrInvalid, posthouse.ErrSealed, posthouse.ErrCorrupt} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}
