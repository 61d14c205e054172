package audit

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/tokens"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
	maxScanned   = 20_000   // entries that are read for one page
	maxPage      = 16 << 20 // bytes of the records of one page
)

// An Audit is the resource. Make it with [New].
type Audit struct {
	ledger *ledger.Ledger
	life   *limit.Lifetime
	now    func() time.Time
}

// New returns the audit trail of a Ledger's threads.
func New(l *ledger.Ledger, life *limit.Lifetime, now func() time.Time) *Audit {
	return &Audit{l, life, now}
}

// Routes are the lines of the table.
func (a *Audit) Routes() []*api.Route {
	filters := []api.Param{
		{Name: "thread", Kind: api.NameParam, Help: "of this thread"}, {Name: "prefix", Kind: api.TextParam, Help: "of threads with a name that starts so"},
		{Name: "by", Kind: api.TextParam, Help: "by this person or token"},
		{Name: "kind", Kind: api.EnumParam, Values: kindNames(), Help: "of this kind: effect is a step that wrote, acted on the world, or ran under an approval; change a checkpoint that a person made; refusal a credential that was not accepted, token one that was made or revoked"},
		{Name: "since", Kind: api.TimeParam, Help: "at this time or later"}, {Name: "until", Kind: api.TimeParam, Help: "before this time"},
	}
	return []*api.Route{
		{
			Method: http.MethodGet, Path: "/api/audit", Role: tokens.Operator, Summary: "Read the audit trail", Handle: a.list,
			Notes: "What was asked, decided, delegated, signalled, changed by hand, done to the world, released and removed, and by whom. By the names of threads, each in the order of its log. " +
				"The thread $access comes first: who logged in and out, credentials that were refused, and tokens made and revoked, with how and from where in the value of the signal. " +
				"Each entry was checked against its hash and the one before it. A page takes a bounded time, so it may be short, or empty, and have a next: only one without next is the last.",
			Query: append(slices.Clone(filters), api.Param{Name: "limit", Kind: api.IntParam, Max: maxLimit, Def: "100", Help: "how many"},
				api.Param{Name: "cursor", Kind: api.TextParam, Help: "go on after this: next of the page before"}, api.FieldsParam()),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of acts", Body: api.List[*Act]{}, Example: example}},
		},
		{
			Method: http.MethodGet, Path: "/api/audit/export", Role: tokens.Operator, Style: api.Stream, Summary: "Export the audit trail", Handle: a.export, Query: filters,
			Notes:   "All acts at once, one JSON object a line, as the list has them. The last line is {\"end\":true,\"acts\":N}: a file without it broke off.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the lines", Media: "application/x-ndjson"}},
		},
	}
}

var example = json.RawMessage(`{"items":[{"thread":"order-1234","seq":4,"at":"2026-11-26T12:03:10Z","kind":"decision","by":"alice","hash":"5f0c9d6bb1f0e8f7a1f5b1f4c9d86e0d6b1b6f0c3a8e2d4f7b9a1c3e5d7f9b2a","signed":true,` +
	`"record":{"cursor":"","kind":"decision","thread":"order-1234","seq":4,"at":"2026-11-26T12:03:10Z","decision":{"gate":"gate-019a2f6e-7c1c-7000-9a01-6f2d8e4b1c33","verdict":"approve","by":"alice","at":"2026-11-26T12:03:10Z"}}}]}`)

// An Act is one record that people answer for.
type Act struct {
	Thread string           `json:"thread" doc:"whose log has it"`
	Seq    uint64           `json:"seq" doc:"the number of its entry in that log"`
	At     time.Time        `json:"at" doc:"when it went on record"`
	Kind   string           `json:"kind" doc:"question, decision, vote, delegation, signal, change, effect, release, removal, login, logout, refusal or token"`
	By     string           `json:"by,omitempty" doc:"who did it, or asked for it"`
	Actor  string           `json:"actor,omitempty" doc:"who sent it in their name"`
	Hash   posthouse.Hash   `json:"hash" doc:"of the entry, which all later entries of the thread build on"`
	Signed bool             `json:"signed" doc:"the entry has a signature of its own; others are covered by the next one"`
	Record *posthouse.Event `json:"record" doc:"the record itself"`

	index int // of the record in its entry
}

// kinds are the kinds of acts, by the kinds of their records.
var kinds = [...]struct {
	record posthouse.RecordKind
	name   string
}{
	{posthouse.RecordGate, "question"}, {posthouse.RecordDecision, "decision"}, {posthouse.RecordVote, "vote"}, {posthouse.RecordAssignment, "delegation"},
	{posthouse.RecordSignal, "signal"}, {posthouse.RecordCheckpoint, "change"}, {posthouse.RecordStep, "effect"}, {posthouse.RecordRelease, "release"}, {posthouse.RecordRemoval, "removal"},
}

// accesses are the kinds of acts in the thread of logins and tokens, by the names of its signals.
var accesses = [...]struct {
	signal authlog.Kind
	name   string
}{{authlog.Login, "login"}, {authlog.Logout, "logout"}, {authlog.Refused, "refusal"}, {authlog.TokenMade, "token"}, {authlog.TokenRevoked, "token"}}

func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	for _, k := range accesses {
		if !slices.Contains(names, k.name) {
			names = append(names, k.name)
		}
	}
	return names
}

// actOf returns the act that a record is, or nil for what the runtime notes for itself.
func actOf(e *posthouse.Event) *Act {
	act := &Act{Thread: e.Thread, Seq: e.Seq, At: e.At, Record: e}
	for _, k := range kinds {
		if k.record == e.Kind {
			act.Kind = k.name
		}
	}
	switch {
	case e.Gate != nil:
		act.By = e.Gate.RequestedBy
		if !e.Gate.AsksPeople() {
			return nil
		}
	case e.Decision != nil:
		act.By, act.Actor = e.Decision.By, e.Decision.Actor
	case e.Vote != nil:
		act.By, act.Actor = e.Vote.By, e.Vote.Actor
	case e.Assignment != nil:
		act.By, act.Actor = e.Assignment.By, e.Assignment.Actor
	case e.Signal != nil:
		act.By = e.Signal.By
		for _, k := range accesses {
			if e.Thread == authlog.Thread && string(k.signal) == e.Signal.Name {
				act.Kind = k.name
			}
		}
	case e.Checkpoint != nil:
		act.By = e.Checkpoint.By
		if act.By == "" {
			return nil
		}
	case e.Step != nil:
		if e.Step.Effect < posthouse.EffectWrite && e.Step.Grant == "" || e.Step.Effect == posthouse.EffectHuman {
			return nil
		}
	case e.Release != nil:
		act.By = e.Release.By
	case e.Removal != nil:
		act.By = e.Removal.By
	default:
		return nil
	}
	return act
}

// A place is where a page ended: after a record of an entry.
type place struct {
	thread string
	seq    uint64
	index  int
}

func (p place) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatUint(p.seq, 10) + "." + strconv.Itoa(p.index) + "." + p.thread))
}

func parsePlace(cursor string) (p place, err error) {
	wrong := posthouse.Invalid("cursor", "is not one of this list")
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return p, wrong
	}
	parts := strings.SplitN(string(text), ".", 3)
	if len(parts) != 3 || posthouse.ValidateName("cursor", parts[2]) != nil {
		return p, wrong
	}
	p.thread = parts[2]
	p.seq, err = strconv.ParseUint(parts[0], 10, 63)
	if err != nil {
		return p, wrong
	}
	p.index, err = strconv.Atoi(parts[1])
	if err != nil || p.index < 0 {
		return p, wrong
	}
	return p, nil
}

// A walk reads acts.
type walk struct {
	ledger       *ledger.Ledger
	thread       string // "": all
	prefix       string
	by, kind     string
	since, until posthouse.Millis
	after        place // zero: from the beginning
}

func (a *Audit) walk(r *api.Request) (*walk, error) {
	w := &walk{ledger: a.ledger, thread: r.Query["thread"], prefix: r.Query["prefix"], by: r.Query["by"], kind: r.Query["kind"], since: r.Millis("since"), until: r.Millis("until")}
	if w.thread != "" && w.prefix != "" {
		return nil, posthouse.Invalid("prefix", "goes without a thread")
	}
	if c := r.Query["cursor"]; c != "" {
		at, err := parsePlace(c)
		if err != nil {
			return nil, err
		}
		if w.thread != "" && at.thread != w.thread {
			return nil, posthouse.Invalid("cursor", "is of another thread")
		}
		w.after = at
	}
	return w, nil
}

// threads yields the names of the threads to read, from the one where the walk goes on.
func (w *walk) threads(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if w.thread != "" {
			yield(w.thread, nil)
			return
		}
		if w.after.thread != "" && !yield(w.after.thread, nil) {
			return
		}
		for t, err := range w.ledger.Threads(ctx, posthouse.ThreadQuery{Prefix: w.prefix, After: w.after.thread}) {
			if err != nil {
				yield("", err)
				return
			}
			if !yield(t.Thread, nil) {
				return
			}
		}
	}
}

// acts yields the acts, and nil with where it stands after each entry that has no act for the caller.
func (w *walk) acts(ctx context.Context) iter.Seq2[*Act, error] {
	return func(yield func(*Act, error) bool) {
		for thread, err := range w.threads(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			rng := posthouse.Range{}
			if thread == w.after.thread {
				rng.From = w.after.seq
			}
			for e, err := range w.ledger.Log(ctx, thread, rng) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !w.entry(e, yield) {
					return
				}
			}
		}
	}
}

// entry yields the acts of an entry, and at last where it ends.
func (w *walk) entry(e *ledger.LogEntry, yield func(*Act, error) bool) bool {
	for i, ev := range e.Events {
		if ev.Thread == w.after.thread && ev.Seq == w.after.seq && i < w.after.index {
			continue
		}
		act := actOf(ev)
		if act == nil || !w.wants(act) {
			continue
		}
		act.Hash, act.Signed, act.index = e.Hash, len(e.Sig) > 0, i
		if !yield(act, nil) {
			return false
		}
	}
	return yield(&Act{Thread: e.Thread, Seq: e.Seq, index: len(e.Events)}, nil)
}

func (w *walk) wants(act *Act) bool {
	at := posthouse.Millis(act.At.UnixMilli())
	return (w.kind == "" || act.Kind == w.kind) && (w.by == "" || act.By == w.by || act.Actor == w.by) && at >= w.since && (w.until == 0 || at < w.until)
}

func (a *Audit) list(w http.ResponseWriter, r *api.Request) error {
	of, err := a.walk(r)
	if err != nil {
		return err
	}
	limit, page, scanned, size, at := r.Number("limit", defaultLimit), api.List[*Act]{}, 0, 0, of.after
	for act, err := range of.acts(r.Context()) {
		if err != nil {
			return err
		}
		if act.Record == nil {
			at = place{act.Thread, act.Seq, act.index}
			if scanned++; scanned < maxScanned {
				continue
			}
			page.Next = at.cursor()
			break
		}
		if len(page.Items) == limit || size > maxPage {
			page.Next = at.cursor()
			break
		}
		at = place{act.Thread, act.Seq, act.index + 1}
		size += sizeOf(act.Record)
		page.Items = append(page.Items, act)
	}
	if err := a.known(r, len(page.Items) > 0 || scanned > 0 || of.after.thread != ""); err != nil {
		return err
	}
	return api.WriteList(w, r, page)
}

// known fails for a thread that is asked for and has no log.
func (a *Audit) known(r *api.Request, found bool) error {
	if thread := r.Query["thread"]; thread != "" && !found {
		return posthouse.NotFound("thread", posthouse.ID(thread))
	}
	return nil
}

// sizeOf estimates what a record takes in an answer, in bytes.
func sizeOf(e *posthouse.Event) int {
	n := 500
	switch {
	case e.Gate != nil:
		n += len(e.Gate.Payload) + len(e.Gate.Schema)
	case e.Decision != nil:
		n += len(e.Decision.Value)
	case e.Signal != nil:
		n += len(e.Signal.Value)
	}
	return n
}

// export writes all acts, one a line.
func (a *Audit) export(w http.ResponseWriter, r *api.Request) error {
	of, err := a.walk(r)
	if err != nil {
		return err
	}
	ctx, cancel := a.life.Bound(r.Context())
	defer cancel()
	enc, n, begun := json.NewEncoder(w), 0, false
	enc.SetEscapeHTML(false)
	begin := func() {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
			w.WriteHeader(http.StatusOK)
		}
		_ = http.NewResponseController(w).SetWriteDeadline(a.now().Add(api.WriteTimeout)) // not supported by test recorders, which never block
	}
	for act, err := range of.acts(ctx) {
		switch {
		case err != nil && begun:
			api.NoteError(w, err)
			panic(http.ErrAbortHandler) // half a trail must not look like a whole one
		case err != nil:
			return err
		case act.Record == nil:
			continue
		}
		begin()
		n++
		if err := enc.Encode(act); err != nil {
			api.NoteError(w, err)
			return nil // the client has left
		}
	}
	begin()
	return enc.Encode(struct {
		End  bool `json:"end"`
		Acts int  `json:"acts"`
	}{true, n})
}
