package client

import (
	"context"
	"io"
	"iter"
	"net/url"
	"time"

	"github.com/posthouse/posthouse"
)

// An Act is what somebody did, or a program did to the world, as the audit trail tells it.
type Act struct {
	Thread string         `json:"thread"` // with the log that has it
	Seq    uint64         `json:"seq"`    // of its entry in that log
	At     time.Time      `json:"at"`
	Kind   string         `json:"kind"`
	By     string         `json:"by,omitempty"`    // who did it; "" is the program
	Actor  string         `json:"actor,omitempty"` // who sent it in their name
	Hash   posthouse.Hash `json:"hash"`            // of the entry

	Did      string       `json:"did"`                // in words that follow the name, such as approved
	What     string       `json:"what,omitempty"`     // in words: the question, the effect, the program with its input
	Gate     posthouse.ID `json:"gate,omitempty"`     // the question that it is about
	Question string       `json:"question,omitempty"` // in one line
	Reason   string       `json:"reason,omitempty"`
	CopyOf   string       `json:"copyOf,omitempty"` // the thread where it was done, if that was copied

	Signed    bool   `json:"signed"`              // the entry has a signature of its own
	Coverage  string `json:"coverage"`            // by a signature: signed, covered, none or unknown
	CoveredBy uint64 `json:"coveredBy,omitempty"` // the entry with the signature that covers it

	Record Document `json:"record"` // JSON of [posthouse.Event]
}

// An AuditQuery says which acts to list. The zero value is all of them.
type AuditQuery struct {
	Thread, Prefix string    // of one thread, or of those with a name that begins so
	By, Kind       string    // of a person or token; of a kind of acts
	Since, Until   time.Time // from Since on, and before Until
}

func (q *AuditQuery) values() url.Values {
	if q == nil {
		return nil
	}
	v := given("thread", q.Thread, "prefix", q.Prefix, "by", q.By, "kind", q.Kind)
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !at.IsZero() {
			v.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return v
}

// Acts yields who did what, by the names of threads, each in the order of its log. It needs the role
// operator.
func (p Proof) Acts(ctx context.Context, q *AuditQuery) iter.Seq2[*Act, error] {
	return List[*Act](ctx, p.client, "/api/audit", q.values(), 0)
}

// ExportActs writes the same as a file: as jsonl an act a line, as csv a table for people. Either has a last
// line that counts the acts: without it the file broke off.
func (p Proof) ExportActs(ctx context.Context, q *AuditQuery, format string, w io.Writer) error {
	v := q.values()
	if v == nil {
		v = url.Values{}
	}
	v.Set("format", format)
	return p.client.download(ctx, withQuery("/api/audit/export", v), w)
}
