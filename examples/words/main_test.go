package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/task/natslink"
	"github.com/posthouse/posthouse/worker"
)

// TestWords sends a text, and a worker that comes over NATS counts its words.
func TestWords(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := make(chan *app.Info, 1)
	var count server.Agent
	o := &app.Options{
		Dir: t.TempDir(), Addr: "127.0.0.1:0", Link: &link.Options{Listen: "127.0.0.1:0"}, Ready: func(i *app.Info) { ready <- i },
	}
	o.Programs = app.Programs{OpenLink: natslink.Open, Open: func(ctx context.Context, env *app.Env) (*app.Set, error) {
		set, err := open(ctx, env)
		if err == nil {
			count = set.Agents["count"]
		}
		return set, err
	}}
	ended := make(chan error, 2)
	go func() { ended <- app.Serve(ctx, o) }()
	info := <-ready
	token, err := os.ReadFile(info.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	l, err := natslink.Open(t.Context(), &link.Options{URL: info.LinkURL, Token: strings.TrimSpace(string(token))})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	engine, err := l.Engine()
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(engine, nil)
	if err != nil {
		t.Fatal(err)
	}
	worker.Handle(w, "words", func(_ worker.Task, text string) (int, error) { return len(strings.Fields(text)), nil })
	go func() { ended <- w.Run(ctx) }()
	none := &server.HandleOptions{Thread: "t", Text: func(string) {}, Event: func(server.AgentEvent) {}}
	if r, err := count.Handle(t.Context(), "one two three", none); err != nil || r.Status != posthouse.StatusWaiting {
		t.Fatalf("%+v, %v", r, err)
	}
	for ev, err := range info.Ledger.Watch(t.Context(), ledger.WatchQuery{Thread: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		if d := ev.Decision; d != nil && string(d.Value) != "3" {
			t.Errorf("the worker says %s", d.Value)
		}
		if ev.Checkpoint != nil && ev.Checkpoint.Status == posthouse.StatusDone {
			break
		}
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
