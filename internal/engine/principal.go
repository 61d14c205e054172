package engine

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
)

// partBy is the program's part that names the one for whom a branch runs. It comes with the
// input and stays with the branch, its forks and its copies.
const partBy = posthouse.SenderPart

// WithPrincipal returns a context for what is done on behalf of somebody.
// Models set the sender of the request that they run.
func WithPrincipal(ctx context.Context, by string) context.Context {
	ctx = context.WithValue(ctx, keyPrincipal, by)
	if Sender(ctx) != by {
		ctx = context.WithValue(ctx, keySender, "") // of a run around this one
	}
	return ctx
}

// Principal returns the one for whom ctx acts, "" if it is not known.
func Principal(ctx context.Context) string {
	by, _ := ctx.Value(keyPrincipal).(string)
	return by
}

// Sender returns who asks the questions of a run unless they say otherwise: the
// sender of the branch's input, or else the principal.
func Sender(ctx context.Context) string {
	if by, _ := ctx.Value(keySender).(string); by != "" {
		return by
	}
	return Principal(ctx)
}

// SentBy returns the changed program parts that set whom an input's run, and those that resume
// it, act for, and the trace that they are in. An empty by takes the sender away. program holds
// the recorded parts.
func SentBy(ctx context.Context, by string, program posthouse.State) (parts []posthouse.Part, err error) {
	for _, p := range [...]struct{ name, value string }{{partBy, by}, {posthouse.TracePart, TraceToRecord(ctx)}} {
		known, ok := program[p.name]
		if p.value == "" {
			if ok {
				parts = append(parts, posthouse.Part{Name: p.name, Drop: true})
			}
			continue
		}
		data, err := json.Marshal(p.value)
		if err != nil {
			return nil, err
		}
		if !ok || string(known.Data) != string(data) {
			parts = append(parts, posthouse.Part{Name: p.name, Codec: posthouse.JSON.Name(), Data: data})
		}
	}
	return parts, nil
}

// WithoutPrincipal returns a context without a principal. A run that is sent again then
// acts for its first sender.
func WithoutPrincipal(ctx context.Context) context.Context { return WithPrincipal(ctx, "") }

// OnBehalf returns the context of a run that goes on from a checkpoint with these parts of
// the program. It acts for by, or else for the principal of ctx, or else for the sender of
// the branch's input. Its questions are that sender's, if one is on record, and whoever
// goes on does not become a requester.
func OnBehalf(ctx context.Context, by string, program posthouse.State) (context.Context, error) {
	sender := ""
	if v, ok := program[partBy]; ok {
		if err := json.Unmarshal(v.Data, &sender); err != nil {
			return ctx, err
		}
	}
	if by == "" && Principal(ctx) == "" {
		by = sender
	}
	if by != "" {
		ctx = WithPrincipal(ctx, by)
	}
	if sender != "" && sender != Sender(ctx) {
		ctx = context.WithValue(ctx, keySender, sender)
	}
	return ctx, nil
}
