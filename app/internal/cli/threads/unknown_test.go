package threads_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// dyingEnv is set to the path of a store: this process is to die while it acts.
const dyingEnv = "POSTHOUSE_TEST_DIES_IN_ACT"

// dieInAct approves a payment, and kills this process while the money is moved.
func dieInAct(path string) error {
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	l, err := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		return err
	}
	app, err := clitest.PayGraph(func(map[string]any) (string, error) {
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		if err == nil {
			select {} // the signal is on its way
		}
		return "", err
	}).Compile(l, nil)
	if err != nil {
		return err
	}
	out, err := app.Run(ctx, "order-1", clitest.Payment{To: "acme", Amount: 10})
	if err != nil {
		return err
	}
	if _, err := l.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		return err
	}
	_, err = app.Resume(ctx, "order-1")
	return errors.Join(errors.New("it is alive"), err)
}

// TestUnknownEffectsAreCounted kills a process while an effect acts. The list of threads then counts an
// effect with an unknown outcome, over HTTP and on the command line.
func TestUnknownEffectsAreCounted(t *testing.T) {
	if path := os.Getenv(dyingEnv); path != "" {
		fmt.Fprintln(os.Stderr, dieInAct(path))
		os.Exit(1)
	}
	path := filepath.Join(t.TempDir(), "posthouse.db")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUnknownEffectsAreCounted$")
	child.Env = append(os.Environ(), dyingEnv+"="+path)
	out, err := child.CombinedOutput()
	if child.ProcessState == nil || child.ProcessState.Exited() {
		t.Fatalf("the process was not killed: %v, %s", err, out)
	}
	store := must.Get(sqlitestore.Open(t.Context(), path, nil))(t)
	desk := clitest.OpenDesk(t, store)
	must.Get(desk.App.Wait(t.Context(), "order-1"))(t) // until it asks what happened
	must.Get(desk.App.Run(t.Context(), "other", clitest.Payment{To: "abc", Amount: 1}))(t)

	secret := must.Get(os.ReadFile(filepath.Join(desk.Path, tokens.FirstFile)))(t)
	c := must.Get(client.New(desk.URL, &client.Options{Token: strings.TrimSpace(string(secret))}))(t)
	defer c.Close()
	var page struct {
		Items []struct {
			Thread  string
			Unknown int `json:"unknownEffects"`
		}
		Counts map[string]int
	}
	list := func(query string) {
		t.Helper()
		page.Items, page.Counts = nil, nil
		must.Do(t, c.Get(t.Context(), "/api/threads?"+query, nil, &page))
	}
	list("unknown=true&fields=thread,unknownEffects")
	if len(page.Items) != 1 || page.Items[0].Thread != "order-1" || page.Items[0].Unknown != 1 {
		t.Errorf("with unknown effects are %+v", page.Items)
	}
	list("counts=true&fields=thread,unknownEffects")
	if len(page.Items) != 2 || page.Counts["waiting"] != 2 || page.Items[0].Unknown+page.Items[1].Unknown != 1 {
		t.Errorf("the list is %+v with the counts %v", page.Items, page.Counts)
	}
	clitest.Wants(t, "the list", desk.Run(0, "thread", "list"), "order-1", "1 unknown", "other")
	if said := desk.Run(0, "thread", "list", "--unknown", "--quiet"); said != "order-1\n" {
		t.Errorf("with unknown effects it lists %q", said)
	}
	if all := must.Get(client.Collect(c.Threads(t.Context(), &client.ThreadQuery{Unknown: true})))(t); len(all) != 1 || all[0].Unknown != 1 {
		t.Errorf("the client lists %+v", all)
	}
	must.Fail(t, c.Get(t.Context(), "/api/threads?unknown=true&counts=true", nil, nil), posthouse.ErrInvalid)
}
