package diff

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// maxChanges is how many differences from an earlier gate are listed.
const maxChanges = 50

// AskedBefore is what a gate showed that a later one supersedes.
type AskedBefore struct {
	ID      posthouse.ID    `json:"id"`
	Changed bool            `json:"changed" doc:"what is asked is not the same any more; otherwise its answer does not count, or there was none"`
	Text    string          `json:"text,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`

	Paths []PathChange `json:"paths,omitempty" doc:"where the payload differs: a is what it showed, b what is shown now"`
	More  int          `json:"more,omitempty" doc:"how many differences more there are"`
}

// Before returns what the gate that g supersedes showed, with at most 50 differences. It is nil if g
// supersedes no gate, or one that is deleted or damaged: g itself can be decided all the same.
func Before(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) *AskedBefore {
	if g.Supersedes == "" {
		return nil
	}
	old, err := l.Gate(ctx, g.Supersedes)
	if err != nil {
		return nil
	}
	v := &AskedBefore{ID: old.ID, Changed: old.Content() != g.Content(), Text: old.Text, Payload: old.Payload}
	if v.Changed {
		v.Paths, v.More = JSON(old.Payload, g.Payload)
		if n := len(v.Paths); n > maxChanges {
			v.Paths, v.More = v.Paths[:maxChanges], v.More+n-maxChanges
		}
	}
	return v
}
