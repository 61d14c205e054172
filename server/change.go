package server

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

var deleteModes = []string{"refuse", string(retain.DeleteOrphan), string(retain.DeleteSubtree)}

func (s *Server) deleteCheckpoint(w http.ResponseWriter, r *api.Request) error {
	o := deleteOptions(r)
	if m := r.Query["mode"]; m != deleteModes[0] {
		o.Mode = retain.DeleteMode(m)
	}
	d, err := retain.Delete(r.Context(), s.ledger, r.ID("id"), o)
	if err != nil {
		return err
	}
	if strings.Contains(r.Header.Get("Prefer"), "return=representation") {
		w.Header().Set("Preference-Applied", "return=representation")
		return api.WriteJSON(w, http.StatusOK, d)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// A forkBody says what a fork changes. State and Patch have the form in which a
// checkpoint is shown.
type forkBody struct {
	State  json.RawMessage            `json:"state,omitempty" doc:"the whole new state, in the form in which the checkpoint's state is shown"`
	Patch  map[string]json.RawMessage `json:"patch,omitempty" doc:"members to replace in the state as it is shown; the others stay"`
	Codecs map[string]string          `json:"codecs,omitempty" doc:"parts given as base64, with their codec"`
	Branch string                     `json:"branch,omitempty" doc:"the new branch's name; fork-1, fork-2, ... unless given"`
	Thread string                     `json:"thread,omitempty" doc:"fork into this new thread instead"`
	Run    bool                       `json:"run,omitempty" doc:"resume the fork at once, and answer as a resume does; as the parameter"`
}

func (s *Server) forkCheckpoint(w http.ResponseWriter, r *api.Request, b *forkBody) (err error) {
	id := r.ID("id")
	if r.Has("state") {
		if b.State != nil {
			return posthouse.Invalid("state", "is given in the query and in the body")
		}
		if b.State, err = json.Marshal(r.Query["state"]); err != nil {
			return err
		}
	}
	if b.State != nil && b.Patch != nil {
		return posthouse.Invalid("patch", "goes with a state that is kept, not with a new one")
	}
	o := &ledger.ForkOptions{Thread: b.Thread, Branch: b.Branch, By: r.Actor.Name}
	if b.State != nil || b.Patch != nil {
		if err := s.forkState(r, id, b, o); err != nil {
			return err
		}
	} else if len(b.Codecs) > 0 {
		return posthouse.Invalid("codecs", "go with a state or a patch")
	}
	run := b.Run || r.Query["run"] == "true"
	if run {
		if err := s.mayRunFork(r.Context(), id, o); err != nil {
			return err
		}
	}
	c, err := s.ledger.Fork(r.Context(), id, o)
	if err != nil {
		return err
	}
	if run && c.Status == posthouse.StatusInterrupted && len(c.Next) > 0 {
		return s.resume(w, r, &c.Header)
	}
	return writeCheckpoint(w, c)
}

// mayRunFork refuses a fork that no program here would run. It is asked before the fork is
// made.
func (s *Server) mayRunFork(ctx context.Context, source posthouse.ID, o *ledger.ForkOptions) error {
	if s.runner == nil {
		return noPrograms()
	}
	check, ok := s.runner.(ReplayChecker)
	if !ok {
		return nil
	}
	c, err := s.ledger.Get(ctx, source)
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
func (s *Server) forkState(r *api.Request, id posthouse.ID, b *forkBody, o *ledger.ForkOptions) (err error) {
	src, err := s.ledger.Get(r.Context(), id)
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
		if raw, err = json.Marshal(b.Patch); err == nil {
			o.Merge, err = readState(raw, nil, true)
		}
	default:
		o.Patch, err = readParts(b.Patch, b.Codecs)
	}
	if err != nil {
		return err
	}
	return s.checkForked(src, b, o)
}

// checkForked refuses a state or a patch that the source's program would not know.
func (s *Server) checkForked(src *posthouse.Checkpoint, b *forkBody, o *ledger.ForkOptions) error {
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
	check, ok := s.runner.(StateChecker)
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
	if k, ok := s.runner.(StateKnower); ok && k.KnowsState(src) {
		o.Parts = slices.Collect(maps.Keys(o.Patch))
	}
	return check.CheckState(src, changed)
}

// goOnRoutes are the routes that run a branch on from the checkpoint that the path
// names, by its own id or a gate's.
func (s *Server) goOnRoutes(path, by string) []*api.Route {
	return []*api.Route{
		{
			Method: http.MethodPost, Path: path + "/{id}/resume", Role: tokens.Operator, Summary: "Resume an interrupted or failed branch" + by, Handle: s.resumeCheckpoint,
			Notes: "The checkpoint must be its branch's head. Waits like a decision.", Answers: waited,
		},
		{
			Method: http.MethodPost, Path: path + "/{id}/replay", Role: tokens.Operator, Summary: "Run again from a checkpoint" + by, Handle: api.Take(s.replayCheckpoint),
			Notes: "Forks the checkpoint and resumes the fork.", Body: replayBody{}, Answers: waited,
		},
	}
}

// origin returns the checkpoint that a path names, or the one whose gate it names.
func (s *Server) origin(r *api.Request) (*posthouse.Header, error) {
	if !strings.HasPrefix(r.Route.Path, "/api/gates/") {
		return s.ledger.GetHeader(r.Context(), r.ID("id"))
	}
	g, err := s.gate(r)
	if err != nil {
		return nil, err
	}
	return s.ledger.GetHeader(r.Context(), g.Checkpoint)
}

func (s *Server) resumeCheckpoint(w http.ResponseWriter, r *api.Request) error {
	h, err := s.origin(r)
	if err != nil {
		return err
	}
	id := h.ID
	info, err := s.ledger.Thread(r.Context(), h.Thread)
	if err != nil {
		return err
	}
	head, _ := info.Branch(h.Branch)
	switch {
	case head.Head != id:
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Head: head.Head, Message: "checkpoint " + string(id) + " is not the head of its branch any more",
			Hint: "resume the head, or replay from here",
		}
	case head.Status == posthouse.StatusWaiting:
		open, err := s.openGates(r, h)
		if err != nil {
			return err
		}
		e := &posthouse.Error{
			Code: posthouse.CodeConflict, Gates: gateIDs(open), Message: "checkpoint " + string(id) + " waits for a decision", Hint: "decide its gate: that resumes it",
		}
		if len(open) == 0 {
			e.Message, e.Hint = "checkpoint "+string(id)+" waits for a time, a signal or another thread", "it goes on by itself; cancel its gate to end the wait: GET /api/gates?checkpoint="+string(id)+"&kind=timer, signal or thread lists it"
		}
		return e
	case len(h.Next) == 0 || head.Status == posthouse.StatusDone || head.Status == posthouse.StatusCancelled:
		return nothingNext(id)
	}
	return s.resume(w, r, h)
}

func nothingNext(id posthouse.ID) error {
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Message: "nothing is to be run after checkpoint " + string(id), Hint: "replay from an earlier one",
	}
}

// resume runs a branch on from its head and answers once nobody runs it.
func (s *Server) resume(w http.ResponseWriter, r *api.Request, h *posthouse.Header) error {
	if s.runner == nil {
		return noPrograms()
	}
	if err := s.runner.Resume(r.Context(), h.Thread, h.Branch); err != nil {
		return err
	}
	return s.awaitOutcome(w, r, &pending{checkpoint: h, after: h.Seq})
}

func noPrograms() error {
	return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this server runs no programs", Hint: "start one that has the program"}
}

type replayBody struct {
	Branch string `json:"branch,omitempty" doc:"the new branch's name; fork-1, fork-2, ... unless given"`
	Thread string `json:"thread,omitempty" doc:"replay in this new thread instead"`
}

func (s *Server) replayCheckpoint(w http.ResponseWriter, r *api.Request, b *replayBody) error {
	src, err := s.origin(r)
	if err != nil {
		return err
	}
	if len(src.Next) == 0 {
		return nothingNext(src.ID)
	}
	o := &ledger.ForkOptions{Thread: b.Thread, Branch: b.Branch, By: r.Actor.Name}
	if s.runner != nil || src.Status != posthouse.StatusWaiting {
		if err := s.mayRunFork(r.Context(), src.ID, o); err != nil {
			return err
		}
	}
	c, err := s.ledger.Fork(r.Context(), src.ID, o)
	if err != nil {
		return err
	}
	if c.Status == posthouse.StatusWaiting { // it asks again
		return writeCheckpoint(w, c)
	}
	return s.resume(w, r, &c.Header)
}
