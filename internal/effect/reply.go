package effect

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/posthouse/posthouse"
)

// MaxReply bounds a reply that is kept whole, in bytes. Of a longer one its first eighth is kept.
const MaxReply = 64 << 10

// maxWhy bounds what is said of where it does not fit.
const maxWhy = 1000

// A Reply is an output of a worker that does not fit the type which the program of its task reads.
type Reply struct {
	Gate    posthouse.ID    `json:"gate"` // of the task's attempt
	Worker  string          `json:"worker"`
	Attempt int             `json:"attempt"`
	Output  json.RawMessage `json:"output"`        // one beyond MaxReply is its beginning, as text
	Cut     bool            `json:"cut,omitempty"` // it is that beginning
	Why     string          `json:"why"`           // where it does not fit
}

// NewReply returns the reply of a worker to a task, with as much of its output as is kept.
func NewReply(g *posthouse.Gate, worker string, output []byte, why string) *Reply {
	if len(why) > maxWhy {
		why = strings.ToValidUTF8(why[:maxWhy], "") + " ..."
	}
	r := &Reply{Gate: g.ID, Worker: worker, Attempt: g.Call.Attempt, Output: bytes.Clone(output), Why: why}
	if len(output) > MaxReply {
		r.Cut = true
		r.Output, _ = json.Marshal(strings.ToValidUTF8(string(output[:MaxReply/8]), "")) // a character takes up to 6 bytes in JSON
	}
	return r
}

// Note says of a reply what was wrong with it, for people.
func (r *Reply) Note() string {
	const shown = 1000
	text := string(r.Output)
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + " ..."
	}
	return r.Worker + " replied " + text + ", which does not fit: " + r.Why
}

// Replied adds a reply that did not fit.
func (u *Use) Replied(r *Reply) { u.reply = r }

// Reply returns the last reply to a task of the newest attempt that did not fit. It may be nil.
func (u *Use) Reply() *Reply { return u.reply }
