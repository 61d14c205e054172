package license

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// KindOutcome is the kind of the question about an effect with an unknown outcome.
const KindOutcome = effect.KindOutcome

// Outcome is the question about attempts that a gate licensed. The payload is their content, the
// schema that of the result: it is left out where the Ledger cannot check it.
func (r *Reader) Outcome(ctx context.Context, c *commit.Committer, name string, under *posthouse.Gate, attempts int, payload, schema json.RawMessage) (q posthouse.Gate, err error) {
	q = commit.OutcomeQuestion(name, under, attempts, payload)
	if len(schema) > 0 && c.Rules.MayOpen(&posthouse.Gate{Schema: schema}) == nil {
		q.Schema = schema
	}
	q.Escalation, err = r.escalation(ctx, under)
	return q, err
}

// OutcomeNote says why people are asked about attempts, and what is on record of them. cause is
// what the function returned, nil if its end is not known.
func OutcomeNote(u *effect.Use, cause error) string {
	note := "Nobody saw how it ended."
	switch {
	case cause != nil && errors.Is(cause, threadlog.ErrPutBack):
		note = "Nothing of it is on record: " + cause.Error()
	case cause != nil:
		note = "It ended with: " + cause.Error()
	}
	if r := u.Reply(); r != nil {
		note = r.Note()
	}
	if parts := u.Parts(); len(parts) > 0 {
		note += "\nOn record within it: " + strings.Join(parts, ", ") + ". If it is done again, it continues after these."
	}
	return Clip(note)
}
