package client_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// TestCompare: numbers come as they are on record.
func TestCompare(t *testing.T) {
	c, _ := open(t)
	ctx := t.Context()
	begin := func(thread, account string) posthouse.ID {
		must.Get(c.Start(ctx, "refund", json.RawMessage(`{"account": `+account+`}`), &client.StartOptions{Thread: thread}))(t)
		must.Get(c.Wait(ctx, thread))(t)
		return must.Get(client.Collect(c.Checkpoints(ctx, thread, &client.CheckpointQuery{Oldest: true})))(t)[0].ID
	}
	a, b := begin("a", "9007199254740993"), begin("b", "9007199254740995")
	d := must.Get(client.Compare(ctx, c, a, b))(t)
	if d.A != a || d.B != b || len(d.Parts) == 0 || len(d.Parts[0].Paths) == 0 || string(d.Parts[0].Paths[0].A) != "9007199254740993" || string(d.Parts[0].Paths[0].B) != "9007199254740995" {
		t.Errorf("they differ by %+v", d)
	}
	_, err := client.Compare(ctx, c, a, "nothing")
	must.Fail(t, err, posthouse.ErrNotFound)
}

// TestBulk cancels threads by a filter: first as a plan, then done, and a failure about one is in the report.
func TestBulk(t *testing.T) {
	c, bob := open(t)
	ctx, o := t.Context(), c.Operations()
	for _, thread := range []string{"order-1", "order-2", "other"} {
		must.Get(c.Start(ctx, "refund", json.RawMessage(`{"account": 1}`), &client.StartOptions{Thread: thread}))(t)
		must.Get(c.Wait(ctx, thread))(t)
	}
	plan := must.Get(o.Bulk(ctx, client.BulkCancel, &client.BulkQuery{Prefix: "order-", DryRun: true}))(t)
	if !plan.DryRun || plan.Done != 2 || plan.Failed != 0 || len(plan.Items) != 2 || plan.Items[0].Thread != "order-1" || plan.Items[0].Err() != nil {
		t.Errorf("the plan is %+v", plan)
	}
	done := must.Get(o.Bulk(ctx, client.BulkCancel, &client.BulkQuery{Prefix: "order-", Reason: "the tenant has left"}))(t)
	if done.Done != 2 || len(done.Items[1].Branches) != 1 || must.Get(c.Thread(ctx, "order-2"))(t).Status != posthouse.StatusCancelled || must.Get(c.Thread(ctx, "other"))(t).Status != posthouse.StatusWaiting {
		t.Errorf("done is %+v", done)
	}
	report := must.Get(o.Bulk(ctx, client.BulkRelease, &client.BulkQuery{Threads: []string{"order-1", "nothing"}}))(t)
	i := slices.IndexFunc(report.Items, func(i client.BulkItem) bool { return i.Thread == "nothing" })
	if report.Done != 1 || report.Failed != 1 || i < 0 || !errors.Is(report.Items[i].Err(), posthouse.ErrNotFound) {
		t.Errorf("the release is %+v", report)
	}
	_, err := o.Bulk(ctx, client.BulkCancel, &client.BulkQuery{})
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = bob.Operations().Bulk(ctx, client.BulkCancel, &client.BulkQuery{Prefix: "order-"})
	must.Fail(t, err, posthouse.ErrForbidden)
}

// TestTasks: a task is listed, shown, kept from workers, and goes on.
func TestTasks(t *testing.T) {
	c, _ := open(t)
	ctx, o := t.Context(), c.Operations()
	must.Get(c.Start(ctx, "resize", 640, &client.StartOptions{Thread: "photo"}))(t)
	must.Get(c.Wait(ctx, "photo"))(t)
	all := must.Get(client.Collect(o.Tasks(ctx, &client.TaskQuery{Thread: "photo", Task: "resize"})))(t)
	if len(all) != 1 || all[0].State != "ready" || string(all[0].Input) != "640" || all[0].Call.Task != "resize" || all[0].Error != nil {
		t.Fatalf("the tasks are %+v", all)
	}
	paused := must.Get(o.PauseTask(ctx, all[0].ID, time.Hour))(t)
	if one := must.Get(o.Task(ctx, paused.ID))(t); one.State != "delayed" || one.Thread != "photo" {
		t.Errorf("paused it is %+v", one)
	}
	if again := must.Get(o.ResumeTask(ctx, paused.ID))(t); again.ID == paused.ID || again.Call.Task != "resize" {
		t.Errorf("it goes on as %+v", again)
	}
	if s := must.Get(o.TaskSlot(ctx, paused.ID))(t); s.Saved {
		t.Errorf("its slot has %+v", s)
	}
	must.Do(t, o.ClearTaskSlot(ctx, must.Get(client.Collect(o.Tasks(ctx, nil)))(t)[0].ID))
	_, err := o.TaskSlot(ctx, "gate-nothing")
	must.Fail(t, err, posthouse.ErrNotFound)
	_, err = o.RetryTask(ctx, paused.ID)
	must.Fail(t, err, posthouse.ErrConflict)
	must.Fail(t, o.GiveUpTask(ctx, paused.ID), posthouse.ErrConflict)
	_, err = o.Task(ctx, "gate-nothing")
	must.Fail(t, err, posthouse.ErrNotFound)
}

// TestWebhooks: a webhook says how it is, and a test of a receiver that fails is an answer.
func TestWebhooks(t *testing.T) {
	c, _ := open(t)
	ctx, o := t.Context(), c.Operations()
	tested := must.Get(o.TestWebhook(ctx, "ops"))(t)
	if tested.Delivered || tested.Status != 500 || tested.Error != "it answers 500" || tested.Message != "msg-1" {
		t.Errorf("the test went %+v", tested)
	}
	since := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	must.Do(t, o.ReplayWebhook(ctx, "ops", since))
	must.Do(t, o.ResumeWebhook(ctx, "ops"))
	all := must.Get(o.Webhooks(ctx))(t)
	if len(all) != 1 || all[0].Name != "ops" || all[0].State != "retrying" || all[0].Error.Failures != 3 || all[0].Replay == nil || !all[0].Replay.From.Equal(since) || all[0].Events[0] != "gate.opened" {
		t.Errorf("it is %+v", all)
	}
	made := must.Get(o.WebhookDeliveries(ctx, "ops"))(t)
	if len(made) != 1 || made[0].ID != "msg-1" || made[0].Attempt != 2 || made[0].Status != 500 || made[0].Delivered {
		t.Errorf("the deliveries are %+v", made)
	}
	told := must.Get(o.GateDeliveries(ctx, "gate-1"))(t)
	if told.Endpoints != 1 || len(told.Items) != 1 || told.Items[0].Endpoint != "ops" || told.Items[0].State != "retrying" || told.Items[0].Error != "it answers 500" {
		t.Errorf("of the gate there are %+v", told)
	}
	_, err := o.GateDeliveries(ctx, "nothing")
	must.Fail(t, err, posthouse.ErrNotFound)
	_, err = o.TestWebhook(ctx, "nothing")
	must.Fail(t, err, posthouse.ErrNotFound)
	_, err = o.WebhookDeliveries(ctx, "nothing")
	must.Fail(t, err, posthouse.ErrNotFound)
}

// TestTokens: a token is made, works, is listed without its secret, and is refused once it is revoked.
func TestTokens(t *testing.T) {
	c, _ := open(t)
	ctx, o := t.Context(), c.Operations()
	made := must.Get(o.CreateToken(ctx, "ci", "viewer", nil))(t)
	other := must.Get(client.New(c.Server(), &client.Options{Token: made.Secret}))(t)
	defer other.Close()
	if me := must.Get(other.Me(ctx))(t); me.Name != "ci" || me.Role != "viewer" || made.Name != "ci" {
		t.Errorf("it is %+v of %+v", me, made)
	}
	_, err := o.CreateToken(ctx, "ci", "viewer", nil)
	must.Fail(t, err, posthouse.ErrExists)
	names := map[string]*client.Token{}
	for _, k := range must.Get(o.Tokens(ctx))(t) {
		names[k.Name] = k
	}
	if len(names) != 3 || !names["alice"].You || names["ci"].You || names["ci"].Role != "viewer" {
		t.Errorf("the tokens are %+v", names)
	}
	must.Do(t, o.RevokeToken(ctx, "ci"))
	if _, err := other.Me(ctx); err == nil || errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("revoked, it is answered with %v", err)
	}
	must.Fail(t, o.RevokeToken(ctx, "ci"), posthouse.ErrNotFound)
}
