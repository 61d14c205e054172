package outline

import (
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
	lineAt   []uint64            // the entries that have the rows' lines; 0: there is none
	stored   map[uint64]int      // bytes of entries that have a line
}

// detail fills the details of rows, which are of one generation.
func detail(ctx context.Context, l *ledger.Ledger, thread string, headers []*posthouse.Header, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	d := &detailer{
		ctx: ctx, l: l, headers: headers, rows: rows, at: map[posthouse.ID]int{}, waits: map[posthouse.ID]*Wait{},
		branches: map[string][]uint64{}, noted: map[string]uint64{}, lineAt: make([]uint64, len(rows)), stored: map[uint64]int{},
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
		size, line := 0, false
		for i := range e.Records {
			size += e.Records[i].Size
			line = line || e.Records[i].Note != nil && e.Records[i].Note.Line
			d.record(e, i)
		}
		if line {
			d.stored[e.Seq] = size
		}
	}
	return nil
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
	i, ok := d.at[c.ID]
	if !ok || d.rows[i].Seq != seq {
		return
	}
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
	}
	return nil
}

// readLines reads the lines of notes, those of the newest entries first, until the entries read
// have more than maxLineBytes.
func (d *detailer) readLines(thread string) error {
	rows, seqs := map[uint64][]int{}, []uint64{}
	for i, seq := range d.lineAt {
		if seq > 0 {
			rows[seq] = append(rows[seq], i)
		}
	}
	total := 0
	for _, seq := range slices.Backward(slices.Sorted(maps.Keys(rows))) {
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
