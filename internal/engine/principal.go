package engine

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
)

// partBy is the program's part that says on whose behalf a branch runs. It
// comes with the input and goes where the branch is continued: forks and copies
// act for the same, and what others send to other branches does not count.
const partBy = "$by"

// WithPrincipal returns a context for what is done on behalf of somebody.
// Models set whose request they run.
func WithPrincipal(ctx context.Context, by string) context.Context {
	return context.WithValue(ctx, keyPrincipal, by)
}

// Principal returns on whose behalf ctx acts, "" if nobody said.
func Principal(ctx context.Context) string {
	by, _ := ctx.Value(keyPrincipal).(string)
	return by
}

// SentBy returns what an input does to the program's parts so that its run, and
// whoever takes that up, acts on behalf of by, "" for nobody. program is what is
// on record before it.
func SentBy(by string, program posthouse.State) ([]posthouse.Part, error) {
	known, ok := program[partBy]
	if by == "" {
		if !ok {
			return nil, nil
		}
		return []posthouse.Part{{Name: partBy, Drop: true}}, nil
	}
	data, err := json.Marshal(by)
	if err != nil || ok && string(known.Data) == string(data) {
		return nil, err
	}
	return []posthouse.Part{{Name: partBy, Codec: posthouse.JSON.Name(), Data: data}}, nil
}

// WithoutPrincipal returns a context of which nobody is known to be acted for, so that a
// run that is sent again acts for whoever sent it first.
func WithoutPrincipal(ctx context.Context) context.Context { return WithPrincipal(ctx, "") }

// OnBehalf returns the context of a run that goes on from a checkpoint with
// these program's parts: it acts for by, or else for whom ctx does, or else for
// whoever sent the branch its input.
func OnBehalf(ctx context.Context, by string, program posthouse.State) (context.Context, error) {
	if by == "" && Principal(ctx) == "" {
		if v, ok := program[partBy]; ok {
			if err := json.Unmarshal(v.Data, &by); err != nil {
				return ctx, err
			}
		}
	}
	if by == "" {
		return ctx, nil
	}
	return WithPrincipal(ctx, by), nil
}
