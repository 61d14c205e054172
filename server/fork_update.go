package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/jsonpatch"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

// A forkBody says what a fork changes. State and Patch have the form in which a
// checkpoint is shown.
type forkBody struct {
	State  json.RawMessage            `json:"state,omitempty" doc:"the whole new state, in the form in which the checkpoint's state is shown"`
	Patch  map[string]json.RawMessage `json:"patch,omitempty" doc:"members to replace in the state as it is shown; the others stay"`
	Codecs map[string]string          `json:"codecs,omitempty" doc:"parts given as base64, with their codec"`
	Branch string                     `json:"branch,omitempty" doc:"the new branch's name; fork-1, fork-2, ... unless given"`
	Thread string                     `json:"thread,omitempty" doc:"fork into this new thread instead"`
	Keep   bool                       `json:"keepNext,omitempty" doc:"keep the next nodes that the source chose, though the state is another; otherwise routes and maps of a graph choose again when the fork is resumed"`
	DryRun bool                       `json:"dryRun,omitempty" doc:"make no fork: the answer is the checkpoint to fork, and in plan what a fork would keep, run again, and ask or do again"`
	Run    bool                       `json:"run,omitempty" doc:"resume the fork at once, and answer as a resume does; as the parameter"`
}

// forkAny forks with a body of what the fork changes, or with a patch of the state as it is shown.
func (cs *checkpoints) forkAny(w http.ResponseWriter, r *api.Request) error {
	t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // what is malformed is refused where the body is read
	apply := map[string]func(doc, patch []byte, limit int) ([]byte, error){api.JSONPatch: jsonpatch.Apply, api.MergePatch: jsonpatch.Merge}[t]
	if apply == nil {
		return api.Take(cs.fork)(w, r)
	}
	patch, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := posthouse.CheckStrict("body", patch); err != nil {
		return err
	}
	if r.Has("state") {
		return posthouse.Invalid("state", "goes without a patch")
	}
	src, err := cs.ledger.Get(r.Context(), r.ID("id"))
	if err != nil {
		return err
	}
	shown, err := view(src)
	if err != nil {
		return err
	}
	after, err := apply(shown.State, patch, cs.ledger.Core().Config.MaxState)
	if err != nil {
		return problem.OfPatch(err)
	}
	b := &forkBody{Branch: r.Query["branch"], Thread: r.Query["thread"], DryRun: r.Query["dryRun"] == "true", Keep: r.Query["keepNext"] == "true"}
	if isOpaque(src.State) {
		b.State = after
		return cs.fork(w, r, b)
	}
	if err := b.change(shown, after); err != nil {
		return err
	}
	return cs.fork(w, r, b)
}

// change has the fork change the parts that differ after a patch; if one is gone, it has the whole
// new state.
func (b *forkBody) change(shown *Checkpoint, after json.RawMessage) error {
	var was, is map[string]json.RawMessage
	if json.Unmarshal(after, &is) != nil || is == nil {
		return posthouse.Invalid("body", "makes a state that is no object; this one has parts")
	}
	if err := json.Unmarshal(shown.State, &was); err != nil {
		return err
	}
	changed := map[string]json.RawMessage{}
	for name, v := range is {
		if old, ok := was[name]; !ok || !bytes.Equal(old, v) {
			changed[name] = v
		}
	}
	b.Patch = changed
	for name := range was {
		if _, ok := is[name]; !ok {
			b.Patch, b.State, changed = nil, after, is
		}
	}
	for name, codec := range shown.Codecs {
		if _, ok := changed[name]; ok {
			if b.Codecs == nil {
				b.Codecs = map[string]string{}
			}
			b.Codecs[name] = codec
		}
	}
	return nil
}

func (cs *checkpoints) fork(w http.ResponseWriter, r *api.Request, b *forkBody) (err error) {
	id := r.ID("id")
	if r.Has("state") {
		if b.State != nil {
			return posthouse.Invalid("state", "is given in the query and in the body")
		}
		b.State, err = json.Marshal(r.Query["state"])
		if err != nil {
			return err
		}
	}
	if b.State != nil && b.Patch != nil {
		return posthouse.Invalid("patch", "goes with a state that is kept, not with a new one")
	}
	o := &ledger.ForkOptions{Thread: b.Thread, Branch: b.Branch, By: r.Actor.Name, ID: r.Reserved.ID, KeepNext: b.Keep}
	if b.State != nil || b.Patch != nil {
		if err := cs.forkState(r, id, b, o); err != nil {
			return err
		}
	} else if len(b.Codecs) > 0 {
		return posthouse.Invalid("codecs", "go with a state or a patch")
	}
	if b.DryRun {
		return cs.planFork(w, r, id, o)
	}
	run := b.Run || r.Query["run"] == "true"
	if run {
		if err := cs.mayRunFork(r.Context(), id, o); err != nil {
			return err
		}
	}
	c, err := cs.makeFork(r, id, o)
	if err != nil {
		return err
	}
	if run && c.Status == posthouse.StatusInterrupted && len(c.Next) > 0 {
		return cs.goOn(w, r, &c.Header)
	}
	return writeCheckpoint(w, c)
}

// makeFork makes a fork, or returns the one that an earlier attempt of the request has made.
func (cs *checkpoints) makeFork(r *api.Request, id posthouse.ID, o *ledger.ForkOptions) (*posthouse.Checkpoint, error) {
	c, err := cs.ledger.Fork(r.Context(), id, o)
	if !r.Reserved.Again || !errors.Is(err, posthouse.ErrExists) {
		return c, err
	}
	made, lost := cs.ledger.Get(r.Context(), o.ID)
	if lost != nil || made.Source == nil || made.Source.ID != id {
		return nil, err
	}
	return made, nil
}

// planFork answers with what a fork would do.
func (cs *checkpoints) planFork(w http.ResponseWriter, r *api.Request, id posthouse.ID, o *ledger.ForkOptions) error {
	h, err := cs.ledger.GetHeader(r.Context(), id)
	if err != nil {
		return err
	}
	plan, err := ledger.PlanFork(r.Context(), cs.ledger, id, o)
	if err != nil {
		return err
	}
	return api.WriteJSON(w, http.StatusOK, &Checkpoint{Header: *h, Plan: plan})
}

// mayRunFork refuses a fork that no program here would run. It is asked before the fork is
// made.
func (cs *checkpoints) mayRunFork(ctx context.Context, source posthouse.ID, o *ledger.ForkOptions) error {
	if cs.runner == nil {
		return noPrograms()
	}
	check, ok := cs.runner.(ReplayChecker)
	if !ok {
		return nil
	}
	c, err := cs.ledger.Get(ctx, source)
	if err != nil || len(c.Next) == 0 {
		return err
	}
	switch {
	case o.Replace != nil:
		c.State = o.Replace
	case o.Patch != nil:
		c.State = maps.Clone(c.State)
		maps.Copy(c.State, o.Patch)
	}
	return check.CheckReplay(ctx, c)
}

// forkState reads the body's state or patch into o, by the shape of the source's state.
func (cs *checkpoints) forkState(r *api.Request, id posthouse.ID, b *forkBody, o *ledger.ForkOptions) (err error) {
	src, err := cs.ledger.Get(r.Context(), id)
	if err != nil {
		return err
	}
	opaque := isOpaque(src.State) || len(src.State) == 0
	switch {
	case b.State != nil && r.Has("state"):
		o.Replace, err = readState(b.State, nil, true) // text is one opaque value
	case b.State != nil:
		o.Replace, err = readState(b.State, b.Codecs, opaque)
	case opaque && len(b.Codecs) > 0:
		err = posthouse.Invalid("codecs", "go with a patch of parts; this state is one opaque value")
	case opaque:
		var raw []byte
		raw, err = json.Marshal(b.Patch)
		if err == nil {
			o.Merge, err = readState(raw, nil, true)
		}
	default:
		o.Patch, err = readParts(b.Patch, b.Codecs)
	}
	if err != nil {
		return err
	}
	return cs.checkForked(src, b, o)
}

// checkForked refuses a state or a patch that the source's program would not know.
func (cs *checkpoints) checkForked(src *posthouse.Checkpoint, b *forkBody, o *ledger.ForkOptions) error {
	if raw, ok := src.State[posthouse.OpaquePart]; ok && o.Merge != nil {
		var known map[string]json.RawMessage
		if json.Unmarshal(raw.Data, &known) != nil || len(known) == 0 {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(b.Patch)) {
			if _, ok := known[name]; !ok {
				return &posthouse.Error{
					Code: posthouse.CodeInvalid, Field: name, Message: "is no member of the state; there is " + strings.Join(slices.Sorted(maps.Keys(known)), ", "),
					Hint: "give one of these, or the whole new state",
				}
			}
		}
		return nil
	}
	check, ok := cs.runner.(StateChecker)
	if !ok || src.Graph == "" {
		return nil
	}
	changed := o.Patch
	if changed == nil {
		changed = o.Replace
	}
	if _, opaque := changed[posthouse.OpaquePart]; opaque {
		return nil
	}
	if k, ok := cs.runner.(StateKnower); ok && k.KnowsState(src) {
		o.Parts = slices.Collect(maps.Keys(o.Patch))
	}
	return check.CheckState(src, changed)
}
