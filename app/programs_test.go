package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
)

// A site is a server as its clients see it.
type site struct {
	url, token string
	client     *http.Client
}

func (s *site) send(ctx context.Context, method, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return s.client.Do(r)
}

// ask sends a request and decodes the answer, which must have a status.
func (s *site) ask(ctx context.Context, method, path, body string, status int, answer any) error {
	resp, err := s.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		return fmt.Errorf("%s %s: %s, %w, %s", method, path, resp.Status, err, data)
	}
	return json.Unmarshal(data, answer)
}

// follow calls do with each event of a stream until that says it has seen enough.
func (s *site) follow(ctx context.Context, path string, do func(kind string, e *posthouse.Event) (enough bool)) error {
	resp, err := s.send(ctx, "GET", path, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	kind := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			kind = value
		case "data":
			e := new(posthouse.Event)
			if err := json.Unmarshal([]byte(value), e); err != nil {
				return err
			}
			if do(kind, e) {
				return nil
			}
		}
	}
	return errors.New("the stream ended")
}

// TestProgramOverHTTP is what a client does that knows the address alone: it finds the program and
// its input, begins a run, watches it, approves what it asks, and sees it end.
func TestProgramOverHTTP(t *testing.T) {
	type sale struct {
		Item string `doc:"what is sold"`
		Paid bool
	}
	o := &app.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Store: "memory:"}
	o.Programs.Open = func(_ context.Context, env *app.Env) (*app.Set, error) {
		g := graph.New[sale]("sale")
		g.Node("pay", func(ctx context.Context, s *sale) error {
			a, err := gate.Ask[any](ctx, gate.Question{Name: "pay", Text: "Sell " + s.Item + "?", AllowRequester: true})
			s.Paid = err == nil && a.Verdict == posthouse.Approve
			return err
		})
		g.Edge(graph.Start, "pay")
		g.Edge("pay", graph.End)
		a, err := g.Compile(env.Ledger, nil)
		if err != nil {
			return nil, err
		}
		return &app.Set{Programs: a.Programs()}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var walked error
	o.Ready = func(i *app.Info) {
		secret, err := os.ReadFile(i.TokenFile)
		if err != nil {
			t.Error(err)
		}
		s := &site{i.URL, strings.TrimSpace(string(secret)), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
		go func() {
			defer cancel()
			walked = s.walk(t.Context())
		}()
	}
	if err := errors.Join(app.Serve(ctx, o), walked); err != nil {
		t.Error(err)
	}
}

func (s *site) walk(ctx context.Context) error {
	var list struct{ Items []posthouse.ProgramInfo }
	var p posthouse.ProgramInfo
	if err := s.ask(ctx, "GET", "/api/programs", "", http.StatusOK, &list); err != nil {
		return err
	}
	if len(list.Items) != 1 || !list.Items[0].Starts {
		return fmt.Errorf("the programs are %+v", list.Items)
	}
	if err := s.ask(ctx, "GET", "/api/programs/"+list.Items[0].Name, "", http.StatusOK, &p); err != nil {
		return err
	}
	if !strings.Contains(string(p.Input), `"Item":{"type":"string","description":"what is sold"}`) || !strings.HasPrefix(p.Picture, "flowchart TD\n") || !strings.Contains(p.Picture, `["pay"]`) {
		return fmt.Errorf("the program is %+v", p)
	}
	var run struct{ Thread, Location, Events string }
	if err := s.ask(ctx, "POST", "/api/programs/"+p.Name+"/runs", `{"input":{"Item":"lamp"},"id":"sale-1"}`, http.StatusCreated, &run); err != nil {
		return err
	}
	var gateID posthouse.ID
	err := s.follow(ctx, run.Events, func(_ string, e *posthouse.Event) bool {
		if e.Gate != nil {
			gateID = e.Gate.ID
		}
		return e.Gate != nil
	})
	if err != nil {
		return err
	}
	var outcome struct{ Status posthouse.Status }
	if err := s.ask(ctx, "POST", "/api/gates/"+string(gateID)+"/approve", `{}`, http.StatusOK, &outcome); err != nil {
		return err
	}
	var thread posthouse.ThreadInfo
	if err := s.ask(ctx, "GET", run.Location, "", http.StatusOK, &thread); err != nil {
		return err
	}
	if outcome.Status != posthouse.StatusDone || thread.Status != posthouse.StatusDone {
		return fmt.Errorf("approved it is %s, and the thread %s", outcome.Status, thread.Status)
	}
	return nil
}
