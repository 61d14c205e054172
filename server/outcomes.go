package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/asked"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/problem"
)

// Accepted answers a recorded request with an outcome that is not known yet.
// Location is where the outcome will be.
type Accepted struct {
	Thread     string              `json:"thread"`
	Branch     string              `json:"branch,omitempty"`
	Checkpoint posthouse.ID        `json:"checkpoint,omitempty" doc:"where it started"`
	Decision   *posthouse.Decision `json:"decision,omitempty"`
	Vote       *posthouse.Decision `json:"vote,omitempty" doc:"in place of the decision: on a gate that asks several people"`
	Missing    int                 `json:"missing,omitempty" doc:"how many approvals the gate still needs"`
	Gates      []posthouse.ID      `json:"gates,omitempty" doc:"of the checkpoint, that still wait for people: nothing may follow before they are decided too"`
	Location   string              `json:"location" doc:"where the outcome will show"`
}

// outcomes answer with what a decision, a resume or a replay led to.
type outcomes struct {
	ledger  *ledger.Ledger
	runner  Runner // nil: what follows runs elsewhere
	timeout *limit.AnswerTimeout
}

// A pending answer waits until no run holds the checkpoint's branch and its head has
// passed the sequence number after.
type pending struct {
	checkpoint *posthouse.Header
	decision   *posthouse.Decision // that started the work, or nil
	after      uint64
}

// await waits for the outcome and answers with it.
func (oc *outcomes) await(w http.ResponseWriter, r *api.Request, t *pending) error {
	from := t.checkpoint
	if oc.runner == nil || from.Graph == "" {
		return oc.accepted(w, r, t)
	}
	ctx, cancel := oc.timeout.Bound(r.Context())
	defer cancel()
	if most, ok := preferredWait(r.Header); ok {
		w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(int(most/time.Second)))
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	head, err := oc.runner.Wait(ctx, from.Thread, from.Branch, t.after)
	switch {
	case err != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return oc.accepted(w, r, t)
	case err != nil:
		return afterDecision(err, t.decision)
	}
	v, err := oc.following(r.Context(), t, head)
	switch {
	case err != nil:
		return afterDecision(err, t.decision)
	case v == nil:
		return oc.accepted(w, r, t)
	}
	v.Decision = t.decision
	v.Branched, err = oc.head(r.Context(), t, head)
	if err != nil {
		return afterDecision(err, t.decision)
	}
	w.Header().Set("ETag", api.ETag(v.Hash))
	return api.WriteJSON(w, http.StatusOK, v)
}

// preferredWait returns how long a client wants to wait for an outcome, by the header Prefer: wait of
// RFC 7240, in whole seconds. The server's own limit holds, too.
func preferredWait(h http.Header) (time.Duration, bool) {
	for _, line := range h.Values("Prefer") {
		for p := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 16); err == nil && strings.EqualFold(strings.TrimSpace(name), "wait") {
				return time.Duration(n) * time.Second, true
			}
		}
	}
	return 0, false
}

// head returns where a branch is, and what acted on the world until then.
func (oc *outcomes) head(ctx context.Context, t *pending, head *posthouse.Header) (*Outcome, error) {
	o := &Outcome{BranchHead: posthouse.BranchHead{Branch: head.Branch, Head: head.ID, Seq: head.Seq, Status: head.Status}, Error: head.Error}
	uses, err := ledger.EffectsAfter(ctx, oc.ledger, head.Thread, t.after)
	if err != nil {
		return nil, err
	}
	for _, u := range uses {
		if u.Branch == head.Branch {
			o.Effects = append(o.Effects, u)
		}
	}
	return o, nil
}

// following returns the child of the checkpoint that was decided. It is nil while
// other gates of the checkpoint wait, or if its program runs elsewhere.
func (oc *outcomes) following(ctx context.Context, t *pending, head *posthouse.Header) (*Checkpoint, error) {
	q := posthouse.Query{Thread: head.Thread, Branch: head.Branch, After: t.checkpoint.Cursor(), Limit: 100}
	for h, err := range oc.ledger.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if h.Parent != t.checkpoint.ID || h.Seq > head.Seq {
			continue
		}
		c, err := oc.ledger.Get(ctx, h.ID)
		if err != nil {
			return nil, err
		}
		return view(c)
	}
	return nil, nil
}

// accepted answers that the work goes on, and where its outcome will show.
func (oc *outcomes) accepted(w http.ResponseWriter, r *api.Request, t *pending) error {
	open, err := asked.Open(r.Context(), oc.ledger, t.checkpoint)
	if err != nil {
		return afterDecision(err, t.decision)
	}
	look := api.ThreadPath(t.checkpoint.Thread)
	w.Header().Set("Location", look)
	return api.WriteJSON(w, http.StatusAccepted, &Accepted{
		Thread: t.checkpoint.Thread, Branch: t.checkpoint.Branch, Checkpoint: t.checkpoint.ID, Decision: t.decision, Gates: asked.IDs(open), Location: look,
	})
}

// afterDecision adds the decision, which stands, to a later failure. Such a failure is
// never the client's fault.
func afterDecision(err error, d *posthouse.Decision) error {
	if d == nil {
		return err
	}
	e := &posthouse.Error{
		Code: problem.Client(err).Code, Decision: d, Err: err, Message: "the decision is on record, but what follows it failed",
		Hint: "do not decide again; see what becomes of the thread",
	}
	if problem.Status(e.Code) < http.StatusInternalServerError {
		e.Code = problem.CodeInternal
	}
	return e
}
