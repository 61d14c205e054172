package golden_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
)

// ask asks a ledger for everything that its public methods say about what is
// stored, and returns the answers as decoded JSON. They depend on the log
// alone: not on the store, the clock, or the order across threads. An error is
// answered by its code. The ring holds the keys that signed; nil if nothing is
// signed.
func ask(ctx context.Context, l *ledger.Ledger, ring *sign.Ring) (map[string]any, error) {
	a := &asker{ctx: ctx, l: l, gates: map[string]any{}}
	var names []string
	for t, err := range l.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return nil, err
		}
		names = append(names, t.Thread)
	}
	for t, err := range l.Threads(ctx, posthouse.ThreadQuery{Released: true}) {
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, t.Thread) {
			names = append(names, t.Thread)
		}
	}
	threads := map[string]any{}
	for _, name := range names {
		threads[name] = a.thread(name)
	}
	report, err := sign.Verify(ctx, l.Store(), ring, &sign.VerifyOptions{RequireSigned: ring != nil})
	if err != nil {
		return nil, err
	}
	keys, err := crypt.KeyUse(ctx, l)
	if err != nil {
		return nil, err
	}
	out := map[string]any{
		"threads": threads, "gates": a.gates, "lists": a.lists(), "inbox": a.inboxes(), "verify": report, "keyUse": keys,
	}
	return plain(out).(map[string]any), nil
}

type asker struct {
	ctx   context.Context
	l     *ledger.Ledger
	gates map[string]any // by id, those that the logs name
}

// answer is the value, or the error's code.
func answer(v any, err error) any {
	var e *posthouse.Error
	switch {
	case err == nil:
		return v
	case errors.As(err, &e):
		return map[string]any{"error": e.Code}
	default:
		return map[string]any{"error": err.Error()}
	}
}

func (a *asker) thread(name string) any {
	info, err := a.l.Thread(a.ctx, name)
	summary, _ := plain(answer(info, err)).(map[string]any)
	if err == nil {
		// To the minute, as it is on record; how it is rounded may change.
		summary["updated"] = info.Updated - info.Updated%60_000
	}
	heads := map[string]any{}
	if err == nil {
		for _, b := range info.Branches {
			heads[b.Branch] = a.branch(name, b)
		}
	}
	releases := []any{}
	versions := []uint32{0}
	for r, err := range a.l.Releases(a.ctx, name) {
		releases = append(releases, answer(r, err))
		if err == nil {
			versions = append(versions, r.Version)
		}
	}
	checkpoints := map[string]any{}
	for _, v := range versions {
		checkpoints[strconv.Itoa(int(v))] = a.checkpoints(posthouse.Query{Thread: name, Generation: v})
	}
	return map[string]any{
		"summary": summary, "branches": heads, "releases": releases, "checkpoints": checkpoints, "log": a.log(name),
	}
}

// branch says what a branch's programs would find on record.
func (a *asker) branch(thread string, b posthouse.BranchHead) any {
	out := map[string]any{}
	latest, err := a.l.Latest(a.ctx, ledger.LatestQuery{Thread: thread, Branch: b.Branch})
	if err != nil {
		return map[string]any{"latest": answer(nil, err)}
	}
	out["latest"] = latest.ID
	executions, err := a.l.Core().Executions(a.ctx, &latest.Header)
	tasks := map[string]any{}
	for task, x := range executions {
		steps, gates := []any{}, []any{}
		for _, s := range x.Steps {
			steps = append(steps, map[string]any{
				"name": s.Name, "occurrence": s.Occurrence, "effect": s.Effect, "value": value(s.Value), "seq": s.Seq, "at": s.At,
			})
		}
		for _, g := range x.Gates {
			gates = append(gates, map[string]any{"id": g.ID, "stepsBefore": x.StepsBefore(g.ID)})
		}
		tasks[task] = map[string]any{"steps": steps, "gates": gates}
	}
	out["executions"] = answer(tasks, err)
	signals := map[string]any{}
	info, err := a.l.Thread(a.ctx, thread)
	if err == nil {
		for _, s := range info.Signals {
			for _, latch := range []bool{false, true} {
				pending, err := commit.Pending(a.ctx, a.l.Core(), thread, b.Branch, s.Name, latch)
				signals[s.Name+" latch="+strconv.FormatBool(latch)] = answer(pending, err)
			}
		}
	}
	out["signals"] = signals
	return out
}

// checkpoints answers a list with each one's header and state.
func (a *asker) checkpoints(q posthouse.Query) any {
	out := []any{}
	for h, err := range a.l.List(a.ctx, q) {
		if err != nil {
			return answer(nil, err)
		}
		one := map[string]any{"header": h}
		c, err := a.l.Get(a.ctx, h.ID)
		if err != nil {
			one["get"] = answer(nil, err)
		} else {
			one["state"], one["program"], one["metadata"] = state(c.State), state(c.Program), c.Metadata
			one["sameHeader"] = same(&c.Header, h)
		}
		alone, err := a.l.GetHeader(a.ctx, h.ID)
		one["headerAlone"] = answer(err == nil && same(alone, h), err)
		out = append(out, one)
	}
	return out
}

func same(a, b *posthouse.Header) bool { return reflect.DeepEqual(plain(a), plain(b)) }

// log answers a thread's entries and what their bodies say. An entry's hash covers
// its header and the entry before it.
func (a *asker) log(thread string) any {
	out := []any{}
	for e, err := range a.l.Log(a.ctx, thread, posthouse.Range{}) {
		if err != nil {
			return append(out, answer(nil, err))
		}
		one := map[string]any{
			"seq": e.Seq, "generation": e.Generation, "at": e.At, "hash": e.Hash,
		}
		if len(e.Sig) > 0 {
			key, _, err := posthouse.SplitSignature(e.Sig)
			one["signedBy"] = answer(key, err)
		}
		records := []any{}
		for i, r := range e.Records {
			rec := plain(r).(map[string]any)
			rec["there"] = e.Bodies[i] != nil
			if r.Checkpoint != nil {
				// Lists answer the headers of those that are kept.
				rec["checkpoint"] = map[string]any{"id": r.Checkpoint.ID, "parentId": r.Checkpoint.Parent, "kind": r.Checkpoint.Kind, "status": r.Checkpoint.Status}
			}
			if r.Gate != nil {
				a.gate(r.Gate.ID)
			}
			records = append(records, rec)
		}
		events := []any{}
		for _, ev := range e.Events {
			said := plain(ev).(map[string]any)
			for _, elsewhere := range []string{"cursor", "checkpoint", "gate", "step"} {
				delete(said, elsewhere)
			}
			if len(said) > 4 { // more than kind, thread, seq and at
				events = append(events, said)
			}
		}
		one["records"], one["events"] = records, events
		out = append(out, one)
	}
	return out
}

func (a *asker) gate(id posthouse.ID) {
	g, err := a.l.Gate(a.ctx, id)
	a.gates[string(id)] = answer(g, err)
}

// lists answers filters by the ids they find, sorted: the order across threads is
// not promised.
func (a *asker) lists() any {
	out := map[string]any{}
	for name, q := range map[string]posthouse.Query{
		"all":          {},
		"graph":        {Graph: "golden-refund"},
		"node":         {Node: "approve"},
		"kind fork":    {Kind: posthouse.KindFork},
		"kind wait":    {Kind: posthouse.KindWait},
		"status done":  {Status: posthouse.StatusDone},
		"failed":       {Status: posthouse.StatusFailed},
		"cancelled":    {Status: posthouse.StatusCancelled},
		"interrupted":  {Status: posthouse.StatusInterrupted},
		"label value":  {Label: "team", LabelValue: "blue"},
		"coordination": {Coordination: "may"},
		"agent":        {Agent: "analyzer"},
		"run":          {Run: "run-1"},
		"branch":       {Branch: "fork-1"},
		"generation 2": {Generation: 2},
		"nothing":      {Graph: "golden-nothing"},
	} {
		ids := []string{}
		for h, err := range a.l.List(a.ctx, q) {
			if err != nil {
				ids = append(ids, err.Error())
				break
			}
			ids = append(ids, string(h.ID))
		}
		slices.Sort(ids)
		n, err := ledger.Count(a.ctx, a.l, q)
		out[name] = map[string]any{"ids": ids, "count": answer(n, err)}
	}
	for name, q := range map[string]posthouse.ThreadQuery{
		"threads waiting":  {Waiting: true},
		"threads runnable": {Runnable: true},
		"threads released": {Released: true},
		"threads of graph": {Graph: "golden-order"},
		"threads prefix":   {Prefix: "chat"},
		"threads due":      {DueBefore: 1 << 52},
		"threads done":     {Status: posthouse.StatusDone},
		"threads leased":   {Leased: true},
	} {
		ids := []string{}
		for t, err := range a.l.Threads(a.ctx, q) {
			if err != nil {
				ids = append(ids, err.Error())
				break
			}
			ids = append(ids, t.Thread)
		}
		slices.Sort(ids)
		out[name] = ids
	}
	return out
}

// inboxes answers the open gates, oldest first.
func (a *asker) inboxes() any {
	out := map[string]any{}
	for name, q := range map[string]ledger.GateQuery{
		"people":     {},
		"newest":     {Newest: true, Limit: 3},
		"everything": {All: true},
		"alice's":    {Assignee: "alice"},
		"sessions":   {Kind: posthouse.GateSession},
		"timers":     {Kind: posthouse.GateTimer},
		"signals":    {Kind: posthouse.GateSignal},
		"one thread": {Thread: "graph-open"},
	} {
		ids := []any{}
		for g, err := range a.l.Gates(a.ctx, q) {
			if err != nil {
				ids = append(ids, answer(nil, err))
				break
			}
			ids = append(ids, g.ID)
		}
		out[name] = ids
	}
	return out
}

// state answers parts by their text, or by their digest where they are long.
func state(s posthouse.State) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		out[name] = value(s[name])
	}
	return out
}

func value(v posthouse.Value) any {
	const long = 600
	if len(v.Data) > long {
		return map[string]any{"codec": v.Codec, "size": len(v.Data), "digest": digest(v.Data)}
	}
	return map[string]any{"codec": v.Codec, "text": strings.ToValidUTF8(string(v.Data), "?")}
}

// digest is short, since it is there to be compared.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// plain is a value as decoded JSON, numbers kept as they are written.
func plain(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	out, err := decode(data)
	if err != nil {
		return err.Error()
	}
	return out
}
