package proof

import (
	"net/http"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

const (
	maxBodies   = 64 << 10  // bytes of bodies in an answer
	maxNext     = 100       // links after an entry
	maxNextSize = 256 << 10 // bytes of their headers
)

// An Entry is an entry of a log as it is stored, so that whoever has it computes its hash and checks its
// signature. docs/format.md says how.
type Entry struct {
	Link
	Thread  string         `json:"thread"`
	At      *time.Time     `json:"at,omitempty" doc:"when it was made; absent where the header cannot be read"`
	Size    int            `json:"size" doc:"bytes of the header and of the bodies"`
	Records []StoredRecord `json:"records" doc:"in the order of the header; empty where it cannot be read"`
	Next    []Link         `json:"next" doc:"where it has no signature: the entries after it, to the first that has one and so covers it; at most 100"`
}

// A Link is what the hash of an entry is made of, and its signature.
type Link struct {
	Seq        uint64         `json:"seq"`
	Generation uint32         `json:"generation"`
	Prev       posthouse.Hash `json:"prev,omitzero" doc:"of the entry before: its hash, or of a signed one a hash over that and its signature; absent of the first"`
	Hash       posthouse.Hash `json:"hash" doc:"as it is stored"`
	Header     []byte         `json:"header" doc:"the bytes, as base64"`
	Signature  []byte         `json:"signature,omitempty" doc:"the bytes, as base64: the length of the key's id in one byte, the id, and 64 bytes of Ed25519"`
}

// A StoredRecord is a record of an entry, with the bytes of its body.
type StoredRecord struct {
	Kind    string         `json:"kind" doc:"checkpoint, step, gate, decision and so on"`
	Size    int            `json:"size" doc:"bytes of its body, as it is stored"`
	Hash    posthouse.Hash `json:"hash,omitzero" doc:"SHA-256 of its body, as the header has it; absent without a body"`
	Sealed  bool           `json:"sealed,omitempty" doc:"the body is encrypted"`
	Missing bool           `json:"missing,omitempty" doc:"the body is not stored: it was removed, or is lost"`
	Body    []byte         `json:"body,omitempty" doc:"the bytes, as base64; absent beyond 64 KiB in an answer"`
}

func (p *Proof) entryRoute() *api.Route {
	return &api.Route{
		Method: http.MethodGet, Path: "/api/threads/{id}/entries/{seq}", Role: tokens.Viewer, Summary: "Show an entry as it is stored", Handle: api.Show(p.entry),
		Notes:   "Nothing of it is checked here: its bytes are for whoever checks them. A browser does, with the keys at /api/keys.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the entry", Body: Entry{}}},
	}
}

func (p *Proof) entry(r *api.Request) (*Entry, error) {
	thread := r.Name("id")
	seq, err := strconv.ParseUint(r.PathValue("seq"), 10, 64)
	if err != nil || seq == 0 {
		return nil, posthouse.Invalid("seq", "must be the number of an entry, from 1")
	}
	var out *Entry
	for e, err := range p.ledger.Store().Read(r.Context(), thread, posthouse.Range{From: seq, To: seq}) {
		if err != nil {
			return nil, err
		}
		out = shown(e)
	}
	if out == nil {
		if _, err := p.ledger.Thread(r.Context(), thread); err != nil {
			return nil, err
		}
		return nil, problem.NotFound("entry", strconv.FormatUint(seq, 10))
	}
	if len(out.Signature) > 0 {
		return out, nil
	}
	size := 0
	for e, err := range p.ledger.Store().Read(r.Context(), thread, posthouse.Range{From: seq + 1, Limit: maxNext, Headers: true}) {
		if err != nil {
			return nil, err
		}
		size += len(e.Header)
		if size > maxNextSize {
			break
		}
		out.Next = append(out.Next, linkOf(e))
		if len(e.Sig) > 0 {
			break
		}
	}
	return out, nil
}

func linkOf(e *posthouse.Entry) Link {
	return Link{Seq: e.Seq, Generation: e.Generation, Prev: e.Prev, Hash: e.Hash, Header: e.Header, Signature: e.Sig}
}

// shown returns an entry with what its header says of its records.
func shown(e *posthouse.Entry) *Entry {
	out := &Entry{Link: linkOf(e), Thread: e.Thread, Size: len(e.Header), Records: []StoredRecord{}, Next: []Link{}}
	for _, b := range e.Bodies {
		out.Size += len(b)
	}
	recs, err := e.Records()
	if err != nil {
		return out
	}
	at := e.Time()
	out.At = &at
	room := maxBodies
	for i := range recs {
		rec := StoredRecord{Kind: recs[i].Kind.String(), Size: recs[i].Size, Hash: recs[i].Hash, Sealed: recs[i].Sealed}
		if rec.Size > 0 {
			rec.Missing = i >= len(e.Bodies) || len(e.Bodies[i]) == 0
			if !rec.Missing && len(e.Bodies[i]) <= room {
				rec.Body = e.Bodies[i]
				room -= len(rec.Body)
			}
		}
		out.Records = append(out.Records, rec)
	}
	return out
}
