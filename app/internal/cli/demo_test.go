package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/ledger"
)

// demoOf returns a directory of a binary with a demo: a thread with one checkpoint of a week ago.
func demoOf(t *testing.T, filled *int) *clitest.Dir {
	d := clitest.New(t)
	none := func(context.Context, *host.Env) (*host.Set, error) { return &host.Set{}, nil }
	d.Config.Dev = &cli.Dev{Programs: none, Demo: &cli.Demo{
		About: "a thread", Programs: none,
		Fill: func(ctx context.Context, env *host.Env, at func(time.Time)) error {
			*filled++
			at(time.Now().Add(-7 * 24 * time.Hour))
			_, err := env.Ledger.Save(ctx, &posthouse.Checkpoint{
				Header: posthouse.Header{Thread: "past"}, State: posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(`1`)}},
			}, nil)
			return err
		},
	}}
	return d
}

// TestDemoHasAPastAndGoes: the past is in the store before clients come, and nothing is left
// of it at the end. A directory that was there stays.
func TestDemoHasAPastAndGoes(t *testing.T) {
	filled := 0
	d := demoOf(t, &filled)
	var out clitest.Buffer
	h, stop := d.Live(&out, "dev", "--demo")
	info, err := h.Ledger.Thread(t.Context(), "past")
	if err != nil || time.Since(time.UnixMilli(int64(info.Created))) < 6*24*time.Hour {
		t.Errorf("the thread of the past is %+v, %v", info, err)
	}
	if strings.Contains(out.String(), "the data stays") {
		t.Errorf("the demo says that its data stays:\n%s", &out)
	}
	clitest.Wants(t, "verify beside the demo", d.Run(0, "verify"), "ok")
	stop()
	if left, err := os.ReadDir(d.Path); err != nil || len(left) > 0 || filled != 1 {
		t.Errorf("filled %d times, the demo left %v, %v", filled, left, err)
	}
	d.Path = filepath.Join(d.Path, "made")
	_, stop = d.Live(&out, "dev", "--demo")
	stop()
	if _, err := os.Stat(d.Path); !os.IsNotExist(err) {
		t.Errorf("a directory that the demo made is left: %v", err)
	}
}

// TestDemoLeavesDataAlone: a directory with data, or another store, is refused before anything is made.
func TestDemoLeavesDataAlone(t *testing.T) {
	filled := 0
	d := demoOf(t, &filled)
	notes := filepath.Join(d.Path, "notes.txt")
	if err := os.WriteFile(notes, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		code  posthouse.Code
		field string
	}{
		{[]string{"dev", "--demo"}, posthouse.CodeConflict, "data-dir"},
		{[]string{"dev", "--demo", "--ephemeral"}, posthouse.CodeInvalid, "demo"},
		{[]string{"dev", "--demo", "--store", "memory:"}, posthouse.CodeInvalid, "demo"},
	} {
		var answer struct{ Error *posthouse.Error }
		said := d.Run(c.code.ExitCode(), append(c.args, "--addr", "127.0.0.1:0", "--json")...)
		if err := json.Unmarshal([]byte(said), &answer); err != nil || answer.Error == nil || answer.Error.Code != c.code || answer.Error.Field != c.field || answer.Error.Hint == "" {
			t.Errorf("%v: %v, %s", c.args, err, said)
		}
	}
	files, err := os.ReadDir(d.Path)
	if data, e := os.ReadFile(notes); err != nil || e != nil || string(data) != "mine" || len(files) != 1 || filled != 0 {
		t.Errorf("refused, the directory has %v, %q, %v, %v", files, data, err, e)
	}
}

// TestDemoThatCannotBegin: a past that cannot be written ends the start, and is removed.
func TestDemoThatCannotBegin(t *testing.T) {
	filled := 0
	d := demoOf(t, &filled)
	d.Config.Dev.Demo.Fill = func(ctx context.Context, env *host.Env, _ func(time.Time)) error {
		_, err := env.Ledger.Fork(ctx, "nowhere", &ledger.ForkOptions{})
		return err
	}
	clitest.Wants(t, "a past that fails", d.Run(posthouse.CodeNotFound.ExitCode(), "dev", "--demo", "--addr", "127.0.0.1:0"), "nowhere")
	if left, err := os.ReadDir(d.Path); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}
