package server

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/tokens"
)

// A Span is a duration that also knows days and weeks: as in 30d, 2w or 12h.
type Span time.Duration

// MarshalText writes hours, minutes and seconds.
func (s Span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText reads a whole number of days (d) or weeks (w), or what
// [time.ParseDuration] takes. [posthouse.ErrInvalid].
func (s *Span) UnmarshalText(text []byte) error {
	v := string(text)
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(v, unit); ok {
			count, err := strconv.ParseUint(n, 10, 12)
			if err != nil {
				return notSpan(v)
			}
			*s = Span(time.Duration(count) * length)
			return nil
		}
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		return notSpan(v)
	}
	*s = Span(d)
	return nil
}

func notSpan(v string) error {
	e := posthouse.Invalid("duration", "%.40q cannot be read", v)
	e.Hint = "as in 30d, 2w or 12h"
	return e
}

type retainBody struct {
	MaxAge       Span              `json:"maxAge,omitempty" doc:"checkpoints older than this go, as in 30d, 2w or 12h"`
	MaxPerThread int               `json:"maxPerThread,omitempty" doc:"of a thread that has more checkpoints, the oldest go"`
	Released     Span              `json:"released,omitempty" doc:"versions released longer ago than this go"`
	Finished     Span              `json:"finished,omitempty" doc:"whole threads that ended and did not move for longer than this go, with the slots of their tasks"`
	Slots        Span              `json:"slots,omitempty" doc:"in threads that stay, what handlers saved for tasks that have been complete for longer than this goes"`
	KeepLast     int               `json:"keepLast,omitempty" doc:"the newest so many checkpoints of each branch stay"`
	KeepBranches []string          `json:"keepBranches,omitempty" doc:"checkpoints of these branches stay"`
	KeepLabels   map[string]string `json:"keepLabels,omitempty" doc:"checkpoints with one of these labels stay; an empty value is any"`
	KeepVersions int               `json:"keepVersions,omitempty" doc:"the newest so many versions of each thread stay"`
	KeepTags     []string          `json:"keepTags,omitempty" doc:"versions with one of these tags stay"`
	DropSources  bool              `json:"dropSources,omitempty" doc:"what a fork was made from goes, too"`
	Prefix       string            `json:"prefix,omitempty" doc:"only threads whose names start so"`
	Graph        string            `json:"graph,omitempty" doc:"only threads of this program"`
	Coordination string            `json:"coordination,omitempty" doc:"only threads whose newest checkpoint belongs to this coordination"`
}

// retention is /api/retain: removing old checkpoints by a policy.
type retention struct {
	ledger  *ledger.Ledger
	timeout *limit.AnswerTimeout
}

func (rt *retention) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodPost, Path: "/api/retain", Role: tokens.Operator, Summary: "Remove old checkpoints by a policy", Handle: api.Take(rt.run),
		Notes: "Whatever the policy says, heads, open questions, what kept checkpoints are rebuilt from, and threads under legal hold stay. " +
			"What goes is attested by a signed record first. A pass that takes longer than an answer may is answered with 202 and ends there: ask again, the next pass takes what this one left.",
		Query: []api.Param{{Name: "dryRun", Kind: api.BoolParam, Def: "false", Help: "true says what would go, and takes nothing"}},
		Body:  retainBody{},
		Answers: []api.Answer{
			{Status: http.StatusOK, Help: "what went, or would go", Body: retain.Report{}, Media: ""}, {Status: http.StatusAccepted, Help: "the same, of the threads that were looked at", Body: retain.Report{}, Media: ""},
		},
	}}
}

func (rt *retention) run(w http.ResponseWriter, r *api.Request, b *retainBody) error {
	ctx, cancel := rt.timeout.Bound(r.Context())
	defer cancel()
	dry := r.Query["dryRun"] == "true"
	done, err := retain.Run(ctx, rt.ledger, retain.Policy{
		MaxAge: time.Duration(b.MaxAge), MaxPerThread: b.MaxPerThread, Released: time.Duration(b.Released), Finished: time.Duration(b.Finished), Slots: time.Duration(b.Slots),
		KeepLast: b.KeepLast, KeepBranches: b.KeepBranches, KeepLabels: b.KeepLabels, DropSources: b.DropSources,
		KeepVersions: b.KeepVersions, KeepTags: b.KeepTags, Prefix: b.Prefix, Graph: b.Graph, Coordination: b.Coordination,
	}, &retain.Options{DryRun: dry, By: r.Actor.Name})
	switch {
	case err == nil:
		return api.WriteJSON(w, http.StatusOK, done)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		if done == nil {
			done = &retain.Report{DryRun: dry} // it came to no thread
		}
		return api.WriteJSON(w, http.StatusAccepted, done)
	}
	return err
}
