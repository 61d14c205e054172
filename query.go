package posthouse

import (
	"strconv"

	"github.com/posthouse/posthouse/internal/base/text"
)

// A Query selects checkpoints. The zero Query selects all; set fields are
// joined by "and". Names are compared byte by byte.
type Query struct {
	Thread       string
	Coordination string
	Run          string
	Graph        string
	// Node matches a checkpoint's node as it is written. A joined node ("a+b") also
	// matches by each of its names, escaped or not ([EscapeName]).
	Node   string
	Agent  string
	Kind   string
	Branch string
	Status Status
	// Generation is the generation of the thread. To the Ledger 0 means the current one
	// if Thread is set, else any; to a store it always means any.
	Generation   uint32
	From, To     uint64 // sequence numbers in Thread, both inclusive; 0: open
	Label        string // a label's name
	LabelValue   string // and its value; only with Label
	Since, Until Millis // of CreatedAt, both inclusive; 0: open

	// Open selects only heads of branches that wait or have open gates, by the threads'
	// summaries: a checkpoint keeps the status it was made with. The Ledger filters so;
	// a store is never asked.
	Open bool

	Descending bool   // newest first
	After      string // continue after this cursor: [Header.Cursor] of the last header
	Limit      int    // 0: all
}

// Millis is a time in Unix milliseconds.
type Millis int64

// Match reports whether the header passes the filters of q. It ignores cursor and
// limit.
func (q *Query) Match(h *Header) bool {
	eq := func(want, have string) bool { return want == "" || want == have }
	ms := Millis(h.CreatedAt.UnixMilli())
	if q.Label != "" {
		if v, ok := h.Labels[q.Label]; !ok || v != q.LabelValue {
			return false
		}
	}
	return eq(q.Thread, h.Thread) && eq(q.Coordination, h.Coordination) && eq(q.Run, h.Run) &&
		eq(q.Graph, h.Graph) && text.IsAmong(q.Node, h.Node) && eq(q.Agent, h.Agent) && eq(q.Kind, h.Kind) &&
		eq(q.Branch, h.Branch) && (q.Status == "" || q.Status == h.Status) &&
		(q.Generation == 0 || q.Generation == h.Generation) && h.Seq >= q.From && (q.To == 0 || h.Seq <= q.To) &&
		(q.Since == 0 || ms >= q.Since) && (q.Until == 0 || ms <= q.Until)
}

// MinEnding is how many bytes of the end of a name a search needs.
const MinEnding = 4

// A ThreadQuery selects threads.
type ThreadQuery struct {
	Thread   string // exactly this one
	Prefix   string // names that start so
	Graph    string
	Status   Status
	Waiting  bool // with open gates
	Runnable bool // with a branch that can run or is to be cancelled
	Leased   bool // with a lease that was not given back
	Released bool // with releases, even if they have not started again

	Label      string // with this label in [ThreadInfo.Labels]
	LabelValue string // and its value; only with Label
	Text       string // that a search finds: see [ThreadInfo.Has]
	DueBefore  Millis // with a gate or timer due at or before; ordered by due time

	Gates    bool   // open gates one by one instead of threads, in the order of their ids; not with DueBefore
	GateKind string // with Gates: of this kind
	People   bool   // with Gates: decided by people outside a session
	Person   string // with Gates: this person may decide, as far as summaries show ([AudienceInfo])

	Descending bool // the last name or id first; not with DueBefore
	// Newest puts the thread with the newest entry first, by the minute
	// ([ThreadInfo.Minute]), and within a minute the last name. It ignores Descending,
	// and does nothing with Gates or DueBefore. A caller that pages by it sees each thread
	// without new entries exactly once. A thread that gets an entry moves to the front:
	// the next list has it there, and this one may miss it.
	Newest bool
	// After is the cursor to continue after, in the order of the query: a thread's name,
	// with Newest its [ThreadInfo.ActivityCursor], or with Gates a gate's id. It is not
	// for DueBefore.
	After string
	Limit int // 0: all
}

// Behind reports whether a thread, or with Gates an open gate, follows the cursor, in
// the order of names or ids. [lists.Follows] knows the order of Newest, too.
func (q *ThreadQuery) Behind(name string) bool {
	switch {
	case q.After == "":
		return true
	case q.Descending:
		return name < q.After
	}
	return name > q.After
}

// Match reports whether the summary passes the filters of q.
func (q *ThreadQuery) Match(t *ThreadInfo) bool {
	if v, ok := t.Labels[q.Label]; q.Label != "" && (!ok || v != q.LabelValue) || q.Text != "" && !t.Has(q.Text) {
		return false
	}
	return (q.Thread == "" || q.Thread == t.Thread) &&
		(len(t.Thread) >= len(q.Prefix) && t.Thread[:len(q.Prefix)] == q.Prefix) &&
		(q.Graph == "" || q.Graph == t.Graph) &&
		(q.Status == "" || q.Status == t.Status) &&
		(!q.Waiting && !q.Gates || len(t.Waiting) > 0) &&
		(!q.Runnable || t.Runnable()) &&
		(!q.Leased || t.Lease.Held) &&
		(!q.Released || t.Releases > 0) &&
		(q.DueBefore == 0 || t.Due != 0 && t.Due <= q.DueBefore)
}

// Minute returns the start of the minute of the thread's last entry. [ThreadQuery.Newest]
// orders by it, so that an index of threads changes once a minute and not with each entry.
func (t *ThreadInfo) Minute() Millis { return t.Updated - t.Updated%60000 }

// ActivityCursor returns the cursor after this thread for [ThreadQuery.Newest].
func (t *ThreadInfo) ActivityCursor() string {
	return strconv.FormatInt(int64(t.Minute()), 10) + "." + t.Thread
}

// ByActivity reports whether the query is in the order of [ThreadQuery.Newest]. Gates and
// due times have orders of their own.
func (q *ThreadQuery) ByActivity() bool { return q.Newest && !q.Gates && q.DueBefore == 0 }
