package statement

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secretfile"
	"github.com/posthouse/posthouse/sign"
)

const (
	exportType   = "application/vnd.posthouse.thread+json"
	exportFormat = 1
)

// MaxExport is the largest export, in bytes of its file.
const MaxExport = 512 << 20

// ExportOptions configure [Export].
type ExportOptions struct {
	// States includes the bodies of states and step results. Otherwise the export has only
	// those of questions, decisions, votes, assignments, signals and removals.
	States bool
	Now    func() time.Time // the clock; default time.Now
}

// A Trail is one thread's audit trail, which [OpenExport] has checked.
type Trail struct {
	Thread  string
	At      time.Time // when it was exported
	KeyID   string    // of the key that signed the export
	Entries []*posthouse.Entry
	Report  *sign.Report
}

// A trail is an export's payload. Its views are for people and are never read back.
type trail struct {
	Format  int           `json:"format"`
	Thread  string        `json:"thread"`
	At      time.Time     `json:"at"`
	States  bool          `json:"states"`
	Effects any           `json:"effects,omitempty"` // []effectView, ignored when read
	Entries []*trailEntry `json:"entries"`
}

type trailEntry struct {
	Seq        uint64         `json:"seq"`
	Generation uint32         `json:"generation"`
	Prev       posthouse.Hash `json:"prev"`
	Hash       posthouse.Hash `json:"hash"`
	Header     []byte         `json:"header"` // base64
	Sig        []byte         `json:"sig,omitempty"`
	Bodies     [][]byte       `json:"bodies"`         // base64, null for a missing body
	View       any            `json:"view,omitempty"` // a *trailView, ignored when read
}

// A trailView shows an entry's header and its JSON bodies to people.
type trailView struct {
	Time    time.Time    `json:"time"`
	Records []recordView `json:"records"`
}

type recordView struct {
	posthouse.Record
	Content json.RawMessage `json:"content,omitempty"`
}

// Export writes one thread's audit trail as a DSSE envelope signed with the key. It has every
// entry with its hashes and signatures, so that [OpenExport] can check the chain without
// the store. It also has a readable view of each entry, and the effects on the world with
// who approved them.
//
// Export fails with [posthouse.ErrNotFound] for an unknown thread, with
// [posthouse.ErrTooLarge] above [MaxExport] bytes, and with [posthouse.ErrCorrupt] for a log
// that ends before its summary says. It does not look for other damage, which OpenExport
// finds.
func Export(ctx context.Context, store posthouse.Store, thread string, signer posthouse.Signer, w io.Writer, o *ExportOptions) error {
	if o == nil {
		o = &ExportOptions{}
	}
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	p := trail{Format: exportFormat, Thread: thread, At: now().UTC().Truncate(time.Millisecond), States: o.States}
	size, last, effects := 0, posthouse.Position{}, newEffectViews()
	for info, err := range store.Threads(ctx, posthouse.ThreadQuery{Thread: thread}) {
		if err != nil {
			return err
		}
		last = info.Tail
	}
	for e, err := range store.Read(ctx, thread, posthouse.Range{}) {
		if err != nil {
			return err
		}
		te, err := newTrailEntry(e, o.States, effects)
		if err != nil {
			return err
		}
		if size += te.size(); size > MaxExport {
			return exportTooLarge()
		}
		p.Entries = append(p.Entries, te)
	}
	switch n := len(p.Entries); {
	case n == 0 && last.Seq == 0:
		return posthouse.NotFound("thread", thread)
	case n == 0 || p.Entries[n-1].Seq < last.Seq:
		return headMismatch(thread, last.Seq, "is not there")
	}
	p.Effects = effects.all()
	payload, err := json.Marshal(p)
	if err != nil {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "export", Message: "cannot be encoded", Err: err}
	}
	data, err := wrap(exportType, payload, signer)
	if err != nil {
		return err
	}
	if len(data) > MaxExport {
		return exportTooLarge()
	}
	if _, err := w.Write(data); err != nil {
		return secretfile.Failed("cannot be written", "the export", err)
	}
	return nil
}

func exportTooLarge() error {
	return &posthouse.Error{
		Code: posthouse.CodeTooLarge, Field: "export", Message: fmt.Sprintf("has more than %d bytes", MaxExport),
		Hint: "export without the states",
	}
}

// size estimates the bytes of the entry once it is encoded twice in base64.
func (e *trailEntry) size() int {
	n := 400 + 4*len(e.Header) // with the view
	for _, b := range e.Bodies {
		n += len(b)
	}
	return n * 16 / 9
}

func newTrailEntry(e *posthouse.Entry, states bool, effects *effectViews) (*trailEntry, error) {
	recs, err := e.Records()
	if err != nil {
		return nil, err
	}
	if len(e.Bodies) != len(recs) {
		return nil, &posthouse.Error{
			Code: posthouse.CodeCorrupt, Message: fmt.Sprintf("entry %d of thread %q has %d bodies for %d records", e.Seq, e.Thread, len(e.Bodies), len(recs)),
		}
	}
	effects.add(e, recs)
	view := &trailView{Time: e.Time()}
	te := &trailEntry{
		Seq: e.Seq, Generation: e.Generation, Prev: e.Prev, Hash: e.Hash, Header: e.Header, Sig: e.Sig,
		Bodies: make([][]byte, len(recs)), View: view,
	}
	for i, r := range recs {
		readable := r.Gate != nil || r.Decision != nil || r.Removal != nil || r.Signal != nil || r.Vote != nil || r.Assignment != nil || r.Notice != nil
		if len(e.Bodies[i]) > 0 && (states || readable) {
			te.Bodies[i] = e.Bodies[i]
		}
		v := recordView{Record: r}
		if readable && json.Valid(e.Bodies[i]) {
			v.Content = e.Bodies[i]
		}
		view.Records = append(view.Records, v)
	}
	return te, nil
}

// OpenExport reads an export and checks it offline: the envelope's signature, then the chain
// and the signatures of the entries. It ignores the views: the Trail comes from hashed
// bytes. Errors are those of [ParseHead]. If the envelope is sound and the entries are not,
// it returns the trail together with [posthouse.ErrCorrupt], and its Report lists what is
// wrong.
func OpenExport(r io.Reader, ring *sign.Ring) (*Trail, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxExport+1))
	if err != nil {
		return nil, secretfile.Failed("cannot be read", "the export", err)
	}
	if len(data) > MaxExport {
		return nil, exportTooLarge()
	}
	payload, by, err := unwrap(data, exportType, ring)
	if err != nil {
		return nil, err
	}
	var p trail
	if err := json.Unmarshal(payload, &p); err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "export", Message: "does not decode", Err: err}
	}
	if err := checkSigned(by, p.Format, exportFormat, p.At); err != nil {
		return nil, err
	}
	check := sign.CheckThread(p.Thread, ring)
	t := &Trail{Thread: p.Thread, At: p.At, KeyID: by.ID}
	for _, te := range p.Entries {
		if te == nil {
			return nil, posthouse.Invalid("export", "has an entry that is null")
		}
		e := &posthouse.Entry{
			Thread: p.Thread, Generation: te.Generation, Seq: te.Seq, Prev: te.Prev, Header: te.Header,
			Hash: te.Hash, Sig: te.Sig, Bodies: te.Bodies,
		}
		t.Entries = append(t.Entries, e)
		check.Add(e)
	}
	t.Report = check.End()
	if faults := t.Report.Faults; len(faults) > 0 {
		return t, &posthouse.Error{
			Code: posthouse.CodeCorrupt, Message: fmt.Sprintf("the export has %d faults, the first: %s", len(faults), faults[0]),
		}
	}
	return t, nil
}
