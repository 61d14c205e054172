package audit

import (
	"encoding/base64"
	"encoding/json"
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
		{Name: "kind", Kind: api.EnumParam, Values: kindNames(), Help: "of this kind: effect is a step that wrote, acted on the world, or ran under an approval; task what a worker made of one; change a checkpoint that a person made; refusal a credential that was not accepted, token one that was made or revoked"},
		{Name: "since", Kind: api.TimeParam, Help: "at this time or later"}, {Name: "until", Kind: api.TimeParam, Help: "before this time"},
	}
	return []*api.Route{
		{
			Method: http.MethodGet, Path: "/api/audit", Role: tokens.Operator, Summary: "Read the audit trail", Handle: a.list,
			Notes: "What was asked, decided, delegated, signalled, changed by hand, done to the world, released and removed, and by whom. By the names of threads, each in the order of its log. " +
				"The thread $access comes first: who logged in and out, credentials that were refused, and tokens made and revoked, with how and from where in the value of the signal. " +
				"Each act is told in words, the same in the pages and in posthouse audit. Waits that the runtime ends by itself, such as the time before another attempt, are not among them. " +
				"Each entry was checked against its hash and the one before it. A page takes a bounded time, so it may be short, or empty, and have a next: only one without next is the last.",
			Query: append(slices.Clone(filters), api.Param{Name: "limit", Kind: api.IntParam, Max: maxLimit, Def: "100", Help: "how many"},
				api.Param{Name: "cursor", Kind: api.TextParam, Help: "go on after this: next of the page before"}, api.FieldsParam()),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of acts", Body: api.List[*Act]{}, Example: example}},
		},
		{
			Method: http.MethodGet, Path: "/api/audit/export", Role: tokens.Operator, Style: api.Stream, Summary: "Export the audit trail", Handle: a.export,
			Query: append(slices.Clone(filters), api.Param{Name: "format", Kind: api.EnumParam, Values: []string{formatLines, formatCSV}, Def: formatLines, Help: "csv: a table for people, without the records"}),
			Notes: "All acts at once, one JSON object a line, as the list has them. The last line is {\"end\":true,\"acts\":N}: a file without it broke off. " +
				"As CSV the first line names the columns, and the last one begins with end and the number of acts. A text that a spreadsheet would take for a formula begins with an apostrophe there.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the lines", Media: "application/x-ndjson"}},
		},
	}
}

var example = json.RawMessage(`{"items":[{"thread":"order-1234","seq":4,"at":"2026-11-26T12:03:10Z","kind":"decision","by":"alice","hash":"5f0c9d6bb1f0e8f7a1f5b1f4c9d86e0d6b1b6f0c3a8e2d4f7b9a1c3e5d7f9b2a","signed":true,` +
	`"did":"approved","what":"Refund order 1234?","gate":"gate-019a2f6e-7c1c-7000-9a01-6f2d8e4b1c33","question":"Refund order 1234?","coverage":"signed","coveredBy":4,` +
	`"record":{"cursor":"","kind":"decision","thread":"order-1234","seq":4,"at":"2026-11-26T12:03:10Z","decision":{"gate":"gate-019a2f6e-7c1c-7000-9a01-6f2d8e4b1c33","verdict":"approve","by":"alice","at":"2026-11-26T12:03:10Z"}}}]}`)

// An Act is one record that people answer for.
type Act struct {
	Thread string           `json:"thread" doc:"whose log has it"`
	Seq    uint64           `json:"seq" doc:"the number of its entry in that log"`
	At     time.Time        `json:"at" doc:"when it went on record"`
	Kind   string           `json:"kind" doc:"question, decision, vote, delegation, signal, change, effect, task, release, removal, login, logout, refusal or token"`
	By     string           `json:"by,omitempty" doc:"who did it, or asked for it"`
	Actor  string           `json:"actor,omitempty" doc:"who sent it in their name"`
	Hash   posthouse.Hash   `json:"hash" doc:"of the entry, which all later entries of the thread build on"`
	Signed bool             `json:"signed" doc:"the entry has a signature of its own; others are covered by the next one of their thread, if there is one"`
	Record *posthouse.Event `json:"record" doc:"the record itself"`

	Did      string       `json:"did" doc:"what was done, in words that follow the name: approved, acted, started"`
	What     string       `json:"what,omitempty" doc:"what it was done to, in words: the question, the effect, the program with its input; at most 300 bytes"`
	Gate     posthouse.ID `json:"gate,omitempty" doc:"the question that it is about"`
	Question string       `json:"question,omitempty" doc:"what that asks, in one line"`
	Reason   string       `json:"reason,omitempty" doc:"why, as who did it says"`
	CopyOf   string       `json:"copyOf,omitempty" doc:"the thread is a copy of this one, and the act was done there: here it is on record again"`

	Coverage  string `json:"coverage" doc:"signed: its entry has a signature; covered: that of a later entry covers it; none: no signature came after it yet; unknown: none among the next 20,000 entries"`
	CoveredBy uint64 `json:"coveredBy,omitempty" doc:"the entry that has this signature: its own, or the first one after it"`

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

// taskKind is the kind of an act of a worker: a task that is done, failed or paused.
const taskKind = "task"

// accesses are the kinds of acts in the thread of logins and tokens, by the names of its signals.
var accesses = [...]struct {
	signal authlog.Kind
	name   string
}{{authlog.Login, "login"}, {authlog.Logout, "logout"}, {authlog.Refused, "refusal"}, {authlog.TokenMade, "token"}, {authlog.TokenRevoked, "token"}, {authlog.TokenConfirmed, "token"}}

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

func (a *Audit) list(w http.ResponseWriter, r *api.Request) error {
	of, err := a.walk(r.Context(), r)
	if err != nil {
		return err
	}
	limit, page, scanned, size, at := r.Number("limit", defaultLimit), api.List[*Act]{}, 0, 0, of.after
	for act, err := range of.acts() {
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
	if err := of.cover(); err != nil {
		return err
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
