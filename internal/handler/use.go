package handler

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// A Use is an effect of a handler under a grant, as its worker names it.
type Use struct {
	Name       string          `json:"name"` // of the call, as the handler spells it
	Occurrence uint32          `json:"occurrence,omitempty"`
	Grant      posthouse.ID    `json:"grant"`                // the gate that the handler proposed it at
	Idempotent bool            `json:"idempotent,omitempty"` // doing it again with the same key is safe
	Schema     json.RawMessage `json:"schema,omitempty"`     // JSON Schema of its result, for people who say what came of it

	// Refused is an approved gate that the handler's own check refused, and Why says why.
	Refused posthouse.ID `json:"refused,omitempty"`
	Why     string       `json:"why,omitempty"`
}

// An Action is an effect of a handler with the code that runs it.
type Action struct {
	Use

	// Fits, if set, looks at the content that the grant licenses, before anything is on record.
	Fits func(g *posthouse.Gate) error

	// Check, if set, says why the approval no longer holds. People are then asked again.
	Check func(ctx context.Context, g *posthouse.Gate) error

	// Reconcile, if set, says what became of an attempt under a gate if its outcome is
	// unknown.
	Reconcile func(ctx context.Context, under *posthouse.Gate) (v posthouse.Value, done bool, err error)

	// Run does it, on what the gate's decision licenses.
	Run func(ctx context.Context, g *posthouse.Gate) (posthouse.Value, error)
}

// CheckEffect refuses a name of an effect that ends like the number of a call, as in "pay[1]": it
// would pass for the second "pay". [posthouse.ErrInvalid].
func CheckEffect(name string) error {
	if i := strings.LastIndexByte(name, '['); i < 0 || !strings.HasSuffix(name, "]") || strings.Trim(name[i+1:len(name)-1], "0123456789") != "" {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "step", Message: "name " + strconv.Quote(name) + " of an effect ends like the number of a call",
		Hint: "put what tells effects apart otherwise, as in pay-1",
	}
}

type keyOfUse struct{}

// WithKey returns a context for the function of an effect, which [Key] finds its key in.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOfUse{}, key)
}

// Key returns the key of the handler's effect that runs with ctx, "" outside of one.
func Key(ctx context.Context) string {
	key, _ := ctx.Value(keyOfUse{}).(string)
	return key
}
