package snippets_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/store/all"
)

// echoes makes a flow that returns what it is given.
func echoes(_ context.Context, env *app.Env) (*app.Set, error) {
	echo, err := flow.New("echo", func(_ context.Context, in string) (string, error) { return in, nil }).Open(env.Ledger, nil)
	if err != nil {
		return nil, err
	}
	return &app.Set{
		Programs: []posthouse.Program{echo},
		Agents:   map[string]server.Agent{"echo": app.FlowAgent(env, echo, nil)},
	}, nil
}

// TestServeOwnProgram serves as the page says, and ends when it is told to.
func TestServeOwnProgram(t *testing.T) {
	dir, open := filepath.Join(t.TempDir(), "shop"), echoes
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url := ""
	ready := func(i *app.Info) { url = i.URL; cancel() }
	addr := "127.0.0.1:0"
	serve := func() error {
		//doc:serve
		err := app.Serve(ctx, &app.Options{
			Programs: app.Programs{Open: open},
			Dir:      dir, // store, keys, tokens
			Addr:     addr,
			Retain:   retain.Policy{Released: 90 * 24 * time.Hour},
			Ready:    ready, // is told the address and the file of the first token
		})
		//doc:end
		return err
	}
	if err := serve(); err != nil || url == "" {
		t.Errorf("at %q: %v", url, err)
	}
}

// TestProgramsOfThePage has every field that the page shows.
func TestProgramsOfThePage(t *testing.T) {
	open, fakes := echoes, echoes
	//doc:stores
	programs := app.Programs{
		Open:      open,
		OpenStore: all.Open, // every store that there is
		Dev:       &app.Dev{About: "Serve, with a model that says what it is told", Open: fakes},
	}
	//doc:end
	if programs.Dev.Open == nil || programs.OpenStore == nil {
		t.Error("the snippet says nothing")
	}
}
