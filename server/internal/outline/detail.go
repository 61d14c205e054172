package outline

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
)

const (
	maxDetailed  = 1000    // rows with details in one answer
	maxChanged   = 8       // names of parts in one row
	maxLineBytes = 8 << 20 // of entries that are read for their lines
)

// A Detail is what a row says with details=true beside its checkpoint's header.
type Detail struct {
	Changed []string `json:"changed,omitempty" doc:"parts of the state that it set or removed, at most 8 of them, without those of the runtime"`
	Line    string   `json:"line,omitempty" doc:"the newest sentence for people among the notes on it and on steps since its parent, at most 200 bytes"`
	Asked   []Wait   `json:"asked,omitempty" doc:"what became of the questions and other waits that it opened, in their order"`
	Effects []Effect `json:"effects,omitempty" doc:"what acted on the world on its branch since its parent; on the head of a branch also since then"`

	Tries     int    `json:"tries,omitempty" doc:"the most attempts that a step since its parent took, where that is more than one"`
	LastError string `json:"lastError,omitempty" doc:"why the last attempt failed that its node or a step since its parent made again, or is to make again, at most 200 bytes"`
}

// A Wait is a question, or another wait, that a checkpoint opened.
type Wait struct {
	ID         posthouse.ID      `json:"id" doc:"the gate"`
	Name       string            `json:"name" doc:"of the question, as the program wrote it"`
	Kind       string            `json:"kind,omitempty" doc:"what it waits for: approval unless set"`
	Intent     string            `json:"intent,omitempty" doc:"of a question to people: what is asked in one line, at most 200 bytes"`
	Thread     string            `json:"thread,omitempty" doc:"of kind thread: the thread whose end it waits for"`
	State      inbox.State       `json:"state" doc:"open, decided, expired or withdrawn"`
	Verdict    posthouse.Verdict `json:"verdict,omitempty" doc:"how it was answered"`
	By         string            `json:"by,omitempty" doc:"who answered"`
	At         posthouse.Millis  `json:"at,omitempty" doc:"when it was answered, in Unix milliseconds"`
	Supersedes posthouse.ID      `json:"supersedes,omitempty" doc:"the gate whose place it took"`
	Superseded posthouse.ID      `json:"superseded,omitempty" doc:"the gate that took its place"`
}

// An Effect is something that acted on the world, or was about to.
type Effect struct {
	Name   string        `json:"name" doc:"of the step, or of the node"`
	Class  string        `json:"class" doc:"what it does to the world"`
	Status grants.Status `json:"status" doc:"decided, released, executed or unknown"`
	Seq    uint64        `json:"seq" doc:"the newest entry about it"`
	Grant  posthouse.ID  `json:"grant,omitempty" doc:"the gate that licensed it by its decision"`
}

// A detailer fills the details of a page. It reads the headers of the log from the page's oldest
// row on, and the bodies of questions and of notes that have a line.
type detailer struct {
	ctx     context.Context
	l       *ledger.Ledger
	headers []*posthouse.Header
	rows    []Row

	at       map[posthouse.ID]int // rows by their checkpoints
	waits    map[posthouse.ID]*Wait
	branches map[string][]uint64 // entries with checkpoints, ascending
	noted    map[string]uint64   // the newest entry with a line since the last checkpoint of a branch
	lineAt   []uint64            // the entries that have the rows' lines; 0: there is no such entry
	tried    map[string]try      // attempts that failed since the last checkpoint of a branch
	errorAt  []uint64            // the entries that have the rows' last errors; 0: no error
	stored   map[uint64]int      // bytes of entries that have a line or an error
}

// A try is what is on record of attempts that failed.
type try struct {
	most int    // attempts of one step
	seq  uint64 // the newest entry with an error; 0: no error
}

// attempted ends the name of the record of an attempt that failed.
const attempted = "$attempt"

// detail fills the details of rows, which are of one generation.
func detail(ctx context.Context, l *ledger.Ledger, thread string, headers []*posthouse.Header, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	d := &detailer{
		ctx: ctx, l: l, headers: headers, rows: rows, at: map[posthouse.ID]int{}, waits: map[posthouse.ID]*Wait{},
		branches: map[string][]uint64{}, noted: map[string]uint64{}, lineAt: make([]uint64, len(rows)), tried: map[string]try{}, errorAt: make([]uint64, len(rows)), stored: map[uint64]int{},
	}
	from := headers[0].Seq
	for i, h := range headers {
		d.at[h.ID] = i
		from = min(from, h.Seq)
		if h.Source == nil && h.ParentSeq > 0 {
			from = min(from, h.ParentSeq+1)
		}
		for _, id := range h.Gates {
			d.waits[id] = &Wait{ID: id, State: inbox.Open}
		}
	}
	if err := d.walk(thread, from); err != nil {
		return err
	}
	if err := d.effects(thread, from); err != nil {
		return err
	}
	if err := d.questions(); err != nil {
		return err
	}
	return d.readLines(thread)
}

// walk reads the log's headers.
func (d *detailer) walk(thread string, from uint64) error {
	for e, err := range d.l.Log(d.ctx, thread, posthouse.Range{From: from, Headers: true}) {
		if err != nil {
			return err
		}
		if e.Generation > d.headers[0].Generation {
			return nil
		}
		size, told := 0, false
		for i := range e.Records {
			size += e.Records[i].Size
			told = told || d.attempt(e, i) || e.Records[i].Note != nil && e.Records[i].Note.Line
			d.record(e, i)
		}
		if told {
			d.stored[e.Seq] = size
		}
	}
	return nil
}

// attempt notes attempts that failed, and reports whether a record tells why one did.
func (d *detailer) attempt(e *ledger.LogEntry, i int) bool {
	r := &e.Records[i]
	if s := r.Step; s != nil && s.Attempts > 1 {
		t := d.tried[s.Branch]
		t.most = max(t.most, s.Attempts)
		d.tried[s.Branch] = t
	}
	if r.Note == nil || i == 0 {
		return false
	}
	s, c := e.Records[i-1].Step, e.Records[i-1].Checkpoint
	switch {
	case s != nil && (s.Attempts > 1 || strings.HasSuffix(s.Name, attempted)):
		t := d.tried[s.Branch]
		t.seq = e.Seq
		d.tried[s.Branch] = t
	case c != nil && c.Attempts > 1:
		if row, ok := d.at[c.ID]; ok && d.rows[row].Seq == e.Seq {
			d.errorAt[row] = e.Seq
		}
	default:
		return false
	}
	return true
}

func (d *detailer) record(e *ledger.LogEntry, i int) {
	r := &e.Records[i]
	switch {
	case r.Note != nil && r.Note.Line && i > 0:
		if c := e.Records[i-1].Checkpoint; c != nil {
			d.line(e.Seq, c.ID)
		} else {
			d.noted[r.Note.Branch] = e.Seq
		}
	case r.Checkpoint != nil:
		d.checkpoint(e.Seq, r)
	case r.Gate != nil:
		if w := d.waits[r.Gate.ID]; w != nil {
			w.Name, w.Kind, w.Supersedes = r.Gate.Name, r.Gate.Kind, r.Gate.Supersedes
		}
		if old := d.waits[r.Gate.Supersedes]; old != nil {
			old.Superseded = r.Gate.ID
		}
	case r.Decision != nil:
		if w := d.waits[r.Decision.Gate]; w != nil {
			w.State = inbox.StateOf(&posthouse.Gate{Decision: &posthouse.Decision{Verdict: r.Decision.Verdict}})
			w.Verdict, w.By, w.At = r.Decision.Verdict, r.Decision.By, posthouse.Millis(e.At.UnixMilli())
		}
	}
}

func (d *detailer) checkpoint(seq uint64, r *posthouse.Record) {
	c := r.Checkpoint
	d.branches[c.Branch] = append(d.branches[c.Branch], seq)
	if noted, ok := d.noted[c.Branch]; ok {
		d.line(noted, c.ID)
		delete(d.noted, c.Branch)
	}
	tried := d.tried[c.Branch]
	delete(d.tried, c.Branch)
	i, ok := d.at[c.ID]
	if !ok || d.rows[i].Seq != seq {
		return
	}
	d.rows[i].Tries, d.errorAt[i] = tried.most, tried.seq
	for j := range r.Parts.Changes {
		if name := r.Parts.Changes[j].Name; !strings.HasPrefix(name, "$") && len(d.rows[i].Changed) < maxChanged {
			d.rows[i].Changed = append(d.rows[i].Changed, name)
		}
	}
}

// line says that an entry has the line of a checkpoint's row. The last one said is the newest.
func (d *detailer) line(seq uint64, id posthouse.ID) {
	if i, ok := d.at[id]; ok {
		d.lineAt[i] = seq
	}
}

// effects puts each effect on the first checkpoint of its branch that is not older, or on the head.
func (d *detailer) effects(thread string, from uint64) error {
	uses, err := ledger.EffectsAfter(d.ctx, d.l, thread, from-1)
	if err != nil {
		return unlessUnread(err)
	}
	seqs := map[string]map[uint64]int{}
	for i, r := range d.rows {
		if seqs[r.Branch] == nil {
			seqs[r.Branch] = map[uint64]int{}
		}
		seqs[r.Branch][r.Seq] = i
	}
	for _, u := range uses {
		all := d.branches[u.Branch]
		if u.Generation != d.headers[0].Generation || len(all) == 0 {
			continue
		}
		at, _ := slices.BinarySearch(all, u.Seq)
		if i, ok := seqs[u.Branch][all[min(at, len(all)-1)]]; ok {
			d.rows[i].Effects = append(d.rows[i].Effects, Effect{Name: u.Name, Class: u.Effect.String(), Status: u.Status, Seq: u.Seq, Grant: u.Grant})
		}
	}
	return nil
}

// questions reads what is asked of people, and puts waits on the rows that opened them.
func (d *detailer) questions() error {
	for i, h := range d.headers {
		for _, id := range h.Gates {
			w := d.waits[id]
			if err := d.read(w); err != nil {
				return err
			}
			d.rows[i].Asked = append(d.rows[i].Asked, *w)
		}
	}
	return nil
}

// read takes what a wait says in its body.
func (d *detailer) read(w *Wait) error {
	if w.Kind != posthouse.GateThread && !posthouse.InInbox(w.Kind) {
		return nil
	}
	g, err := d.l.Gate(d.ctx, w.ID)
	switch {
	case err != nil:
		return unlessUnread(err)
	case w.Kind == posthouse.GateThread:
		w.Thread = g.Text
	default:
		w.Intent = cut(gate.Intent(g))
		if g.Origin != "" && g.Decision != nil && !g.Decision.At.IsZero() {
			w.At = posthouse.Millis(g.Decision.At.UnixMilli()) // a copy is on record later than the answer
		}
	}
	return nil
}

// readLines reads the lines of notes, and why attempts failed, those of the newest entries first, until the entries read
// have more than maxLineBytes.
func (d *detailer) readLines(thread string) error {
	rows, seqs := map[uint64][]int{}, []uint64{}
	failed := map[uint64][]int{}
	for i := range d.rows {
		if seq := d.lineAt[i]; seq > 0 {
			rows[seq] = append(rows[seq], i)
		}
		if seq := d.errorAt[i]; seq > 0 {
			failed[seq] = append(failed[seq], i)
		}
	}
	all := slices.AppendSeq(slices.Collect(maps.Keys(rows)), maps.Keys(failed))
	slices.Sort(all)
	total := 0
	for _, seq := range slices.Backward(slices.Compact(all)) {
		total += d.stored[seq]
		if total > maxLineBytes && len(seqs) > 0 {
			break
		}
		seqs = append(seqs, seq)
	}
	if len(seqs) == 0 {
		return nil
	}
	for e, err := range d.l.Log(d.ctx, thread, posthouse.Range{Seqs: seqs}) {
		if err != nil {
			return unlessUnread(err)
		}
		for _, ev := range e.Events {
			d.say(rows[e.Seq], ev)
			for _, i := range failed[e.Seq] {
				d.rows[i].LastError = cmp.Or(cut(ev.LastError), d.rows[i].LastError)
			}
		}
	}
	return nil
}

// say gives rows the newest line of an event's notes. That of a row's own checkpoint goes before others.
func (d *detailer) say(rows []int, ev *posthouse.Event) {
	for _, n := range slices.Backward(ev.Notes) {
		if n.Line == "" {
			continue
		}
		for _, row := range rows {
			if r := &d.rows[row]; ev.Checkpoint == nil || ev.Checkpoint.ID == r.ID {
				r.Line = cut(firstLine(n.Line))
			}
		}
		return
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// unlessUnread returns nil for what cannot be read, or is gone: the row is there without it.
func unlessUnread(err error) error {
	if errors.Is(err, posthouse.ErrSealed) || errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	return err
}
