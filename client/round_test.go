package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// open serves for a test.
func open(t *testing.T) (alice, bob *client.Client) {
	t.Helper()
	alice, bob, stop, err := serve()
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, stop()) })
	return alice, bob
}

// TestRound asks everything of a server that has a method, on the way of one run.
func TestRound(t *testing.T) {
	c, bob := open(t)
	ctx := t.Context()
	me := must.Get(c.Me(ctx))(t)
	programs := must.Get(client.Collect(c.Programs(ctx)))(t)
	if me.Name != "alice" || me.Role != "operator" || len(programs) != 2 {
		t.Errorf("it is %+v with the programs %v", me, programs)
	}
	if p := must.Get(c.Program(ctx, "refund"))(t); !json.Valid(p.Input) || !strings.Contains(string(p.Input), `"account"`) {
		t.Errorf("the program takes %s", p.Input)
	}
	_, err := c.Start(ctx, "refund", map[string]string{"acount": "x"}, nil)
	if e := new(posthouse.Error); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "input.acount" {
		t.Errorf("a wrong input is %v", err)
	}
	run := must.Get(c.Start(ctx, "refund", json.RawMessage(`{"account": 9007199254740993}`), &client.StartOptions{Thread: "..", Labels: map[string]string{"team": "a"}}))(t)
	_, err = c.Start(ctx, "refund", nil, &client.StartOptions{Thread: ".."})
	if !errors.Is(err, posthouse.ErrExists) && !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("the same thread again is %v", err)
	}
	at := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	if later := must.Get(c.Start(ctx, "refund", json.RawMessage(`{"account": 1}`), &client.StartOptions{Thread: "later", StartAt: at}))(t); later.Status != posthouse.StatusWaiting || !later.StartAt.Equal(at) {
		t.Errorf("a run to come is %+v", later)
	}
	must.Do(t, c.Cancel(ctx, "later", "", ""))
	th := must.Get(c.Wait(ctx, run.Thread))(t)
	if th.Status != posthouse.StatusWaiting || th.CreatedAt.IsZero() {
		t.Errorf("it rests as %+v", th)
	}
	if all := must.Get(client.Collect(c.Threads(ctx, &client.ThreadQuery{Waiting: true})))(t); len(all) != 1 || all[0].Thread != ".." {
		t.Errorf("waiting are %v", all)
	}
	for _, err := range c.Gates(ctx, &client.GateQuery{Assignee: ""}) { // an empty name is not everybody's
		must.Fail(t, err, posthouse.ErrInvalid)
	}
	gates := must.Get(client.Collect(c.Gates(ctx, nil)))(t)
	g := must.Get(bob.Gate(ctx, gates[0].ID))(t)
	if string(g.Payload) != `{"account":9007199254740993}` || string(g.Binding[0].Value) != "9007199254740993" || !slices.Contains(g.May, "approve") || g.State != "open" {
		t.Errorf("the question is %+v", g)
	}
	head := must.Get(c.Checkpoint(ctx, g.Checkpoint))(t)
	if !strings.Contains(string(head.State), `"Account":9007199254740993`) {
		t.Errorf("the state is %s", head.State)
	}
	done := must.Get(bob.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, Shown: g.Hash, Reason: "yes"}))(t)
	if done.ID == "" || done.Decision == nil || done.Decision.By != "bob" {
		t.Errorf("the decision led to %+v", done)
	}
	_, err = bob.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Reject})
	must.Fail(t, err, posthouse.ErrDecided)
	all := must.Get(client.Collect(c.Checkpoints(ctx, "..", &client.CheckpointQuery{States: true, Oldest: true})))(t)
	if len(all) < 3 || !strings.Contains(string(all[len(all)-1].State), `"Paid":"yes"`) {
		t.Errorf("the checkpoints are %v", all)
	}
	plan := must.Get(c.Fork(ctx, head.ID, &client.ForkOptions{DryRun: true}))(t)
	fork := must.Get(c.Fork(ctx, head.ID, &client.ForkOptions{Branch: "again", Patch: map[string]json.RawMessage{"Account": []byte("9007199254740995")}}))(t)
	if plan.Plan == nil || fork.Branch != "again" || !strings.Contains(string(fork.State), "9007199254740995") {
		t.Errorf("the fork is %+v, %s", fork, fork.State)
	}
	if would := must.Get(c.Operations().PlanResume(ctx, fork.ID))(t); !strings.Contains(string(would.Resumes), `"branch":"again"`) {
		t.Errorf("a resume of the fork would do %s", would.Resumes)
	}
	resumed := must.Get(c.Resume(ctx, fork.ID))(t)
	if resumed.Status != posthouse.StatusWaiting {
		t.Errorf("the fork is resumed to %+v", resumed)
	}
	must.Do(t, c.Cancel(ctx, "..", "again", "enough"))
	if s := must.Get(c.Signal(ctx, "..", "note", json.RawMessage(`9007199254740993`), "s-1"))(t); string(s.Value) != "9007199254740993" {
		t.Errorf("the signal is %s", s.Value)
	}
	entries := must.Get(client.Collect(c.Log(ctx, "..", 0)))(t)
	if last := entries[len(entries)-1]; last.Records[0].Signal == nil || string(last.Records[0].Signal.Value) != "9007199254740993" {
		t.Errorf("the last entry is %+v", last)
	}
	proved(t, c)
	rel := must.Get(c.Release(ctx, "..", "over"))(t)
	if rel.Version != 1 {
		t.Errorf("it is released as %+v", rel)
	}
	if was := must.Get(c.Operations().Version(ctx, "..", "1"))(t); was.Release == nil || was.Release.Reason != "over" || len(was.Branches) < 2 {
		t.Errorf("as version 1 it was %+v", was)
	}
	must.Do(t, c.DeleteThread(ctx, "..", "over"))
	_, err = c.Thread(ctx, "..")
	must.Fail(t, err, posthouse.ErrNotFound)
}

// proved asks for what proves the record.
func proved(t *testing.T, c *client.Client) {
	t.Helper()
	ctx, p := t.Context(), c.Proof()
	ended := func(v *client.Verification) *client.Verification {
		for v.State == "running" {
			v = must.Get(p.Verification(ctx, v.ID))(t)
		}
		if !v.OK || v.Report == nil || v.Threads == 0 {
			t.Errorf("the verification is %+v", v)
		}
		return v
	}
	ended(must.Get(p.Verify(ctx, ""))(t))
	if keys := must.Get(p.Keys(ctx))(t); len(keys) != 1 || !keys[0].Signs {
		t.Errorf("the keys are %+v", keys)
	}
	var head, file bytes.Buffer
	must.Do(t, p.Witness(ctx, &head))
	if v := ended(must.Get(p.VerifyAgainst(ctx, "", head.String()))(t)); v.Witness == nil || v.Witness.Threads == 0 {
		t.Errorf("the verification against a witness is %+v", v)
	}
	must.Do(t, p.Export(ctx, "..", &file))
	if !json.Valid(head.Bytes()) || file.Len() == 0 {
		t.Errorf("the witness is %s, the export has %d bytes", head.String(), file.Len())
	}
}

// TestTypesHaveWhatTheServerAnswers compares the members of each type with the description of the API.
func TestTypesHaveWhatTheServerAnswers(t *testing.T) {
	c, _ := open(t)
	var described struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage
			}
		}
	}
	must.Do(t, c.Do(t.Context(), http.MethodGet, "/openapi.json", nil, nil, &described))
	for name, v := range map[string]any{
		"Event": client.Event{}, "Values": client.Values{}, "Emission": client.Emission{}, "ProgramRun": client.Run{}, "Thread": client.Thread{},
		"Hold": client.Hold{}, "LogEntry": client.Entry{}, "Checkpoint": client.Checkpoint{}, "PartSize": client.PartSize{}, "Outcome": client.Outcome{},
		"Gate": client.Gate{}, "Delegated": client.Delegated{}, "KnownPerson": client.Person{}, "BindingField": client.BindingField{}, "Verification": client.Verification{}, "Seen": client.Witnessed{}, "Key": client.Key{}, "MeBody": client.Caller{},
		"Comparison": client.Comparison{}, "FieldChange": client.FieldChange{}, "PartChange": client.PartChange{}, "PartSide": client.PartSide{}, "PathChange": client.PathChange{},
		"Report": client.BulkReport{}, "Item": client.BulkItem{}, "Task": client.Task{}, "Status": client.Webhook{}, "ErrorStatus": client.WebhookError{},
		"ReplayStatus": client.WebhookReplay{}, "Tested": client.WebhookTest{}, "Token": client.Token{}, "TaskSlot": client.TaskSlot{},
		"Start": client.TaskStart{}, "Started": client.TaskStarted{}, "WorkerInfo": client.Worker{}, "Letter": client.DeadLetter{}, "GateToken": client.ApprovalToken{}, "Created": client.NewToken{},
		"Usage": client.Usage{}, "Model": client.ModelUsage{}, "Act": client.Act{}, "Kind": client.FaultsOfKind{},
	} {
		schema, ok := described.Components.Schemas[name]
		if !ok {
			t.Errorf("the description has no %s", name)
			continue
		}
		has := members(reflect.TypeOf(v))
		for member := range schema.Properties {
			if !has[member] && !(name == "Event" && member == "session") {
				t.Errorf("%T lacks %s, which the server answers", v, member)
			}
			delete(has, member)
		}
		for member := range has {
			if !slices.Contains([]string{"created", "updated", "due"}, member) { // of a summary, which the server shows as times
				t.Errorf("%T has %s, which the server does not answer", v, member)
			}
		}
	}
}

func members(t reflect.Type) map[string]bool {
	all := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" && name != "" {
			all[name] = true
		}
	}
	return all
}
