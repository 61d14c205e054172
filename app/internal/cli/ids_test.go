package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
)

// The ids that a shelf has. They begin alike, as those of an hour do.
const (
	threadID     = "task-01a211a0-8000-7001-8001-00000000aaa1"
	checkpointID = "01a211a0-8000-7001-8001-00000000bbb2"
	gateID       = "gate-01a211a0-8000-7001-8001-00000000ccc3"
	doneID       = "gate-01a211a0-8000-7001-8001-00000000ddd4"
	taskID       = "gate-01a211a0-8000-7001-8001-00000000eee5"
)

// A shelf is a server that lists ids and knows nothing else: it notes what it is asked.
type shelf struct {
	*httptest.Server
	dir     string
	answers map[string]string
	asked   []string
}

// newShelf returns a shelf with thread order-1, which has one of each kind.
func newShelf(t *testing.T) *shelf {
	s := &shelf{dir: t.TempDir(), answers: map[string]string{
		"/api/threads":             `[{"thread":"` + threadID + `","graph":"g","status":"done"},{"thread":"order-1"}]`,
		"/api/threads/order-1":     `{"thread":"order-1","branches":[{"branch":"main","head":"` + checkpointID + `"}]}`,
		"/api/threads/order-1/log": `[{"seq":4,"records":[{"thread":"order-1","checkpoint":{"id":"` + checkpointID + `","kind":"node"}},{"thread":"order-1","gate":{"id":"` + gateID + `","name":"refund"}}]}]`,
		"/api/checkpoints":         `[{"id":"` + checkpointID + `","thread":"order-1","kind":"node","gates":["` + gateID + `","` + doneID + `"]}]`,
		"/api/gates":               `[{"id":"` + gateID + `","name":"refund","thread":"order-1"}]`,
		"/api/tasks":               `[{"id":"` + taskID + `","thread":"order-1","call":{"task":"fetch"}}]`,
	}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.URL.RequestURI())
		if a := s.answers[r.URL.Path]; a != "" && r.Method == http.MethodGet {
			if q := r.URL.Query(); q.Has("thread") && q.Get("thread") != "order-1" || q.Get("failed") == "true" {
				a = "[]"
			}
			fmt.Fprint(w, a)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"title":"not found","code":"not_found"}`)
	}))
	t.Cleanup(s.Close)
	if err := os.WriteFile(filepath.Join(s.dir, "token"), []byte("ph_x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a command line, at a terminal or not, and returns its exit code, what it printed
// and what it asked the server.
func (s *shelf) run(t *testing.T, terminal bool, args ...string) (code int, out string, asked []string) {
	t.Helper()
	s.asked = nil
	var b bytes.Buffer
	at := term.Term{In: strings.NewReader("y\n"), Out: &b, Err: &b, Interactive: terminal}
	code = cli.Run(t.Context(), append(args, "--server", s.URL, "--data-dir", s.dir), &cli.Config{}, func(string) string { return "" }, func() []string { return nil }, at)
	return code, b.String(), s.asked
}

// ids has the id of each word of a usage line.
var ids = map[string]string{"THREAD": threadID, "CHECKPOINT": checkpointID, "A": checkpointID, "B": checkpointID, "GATE": gateID, "TASK": taskID}

// walk calls visit with each command.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, below := range cmd.Commands() {
		walk(below, visit)
	}
}

// TestEveryCommandTakesPartsOfIDs runs each command that has an id in its usage line with the
// ending of one: the request that follows has the whole id. A whole one makes no request more.
func TestEveryCommandTakesPartsOfIDs(t *testing.T) {
	s := newShelf(t)
	commands := 0
	walk(cli.Root(&cli.Config{}), func(cmd *cobra.Command) {
		words := strings.Fields(cmd.Use)[1:]
		at := slices.IndexFunc(words, env.IsID)
		if at < 0 || cmd.Flags().Lookup("store") != nil {
			return
		}
		commands++
		path := strings.Fields(cmd.CommandPath())[1:]
		for _, kind := range strings.Split(strings.Trim(words[at], "[]"), "|") {
			id := ids[kind]
			for _, form := range []string{id, id[len(id)-4:]} {
				args := slices.Clone(path)
				for i, word := range words {
					switch {
					case i == at:
						args = append(args, form)
					case env.IsID(word):
						args = append(args, checkpointID)
					case strings.Contains(word, "JSON"):
						args = append(args, "{}")
					default:
						args = append(args, "other")
					}
				}
				if cmd.Flags().Lookup("value") != nil {
					args = append(args, "--value", "{}")
				}
				_, out, asked := s.run(t, true, args...)
				whole := func(uri string) bool { return strings.Contains(uri, id) }
				if !slices.ContainsFunc(asked, whole) {
					t.Errorf("%s: the server is not asked for %s, but %q\n%s", strings.Join(args, " "), id, asked, out)
				}
				if form == id && !whole(asked[0]) {
					t.Errorf("%s: for a whole id the server is asked %q", strings.Join(args, " "), asked)
				}
			}
		}
	})
	if commands < 25 {
		t.Errorf("only %d commands take an id", commands)
	}
}

// TestFormsOfIDs writes an id of each kind in each way.
func TestFormsOfIDs(t *testing.T) {
	s := newShelf(t)
	for _, c := range []struct {
		command, id string
		forms       []string
	}{
		{"thread show", threadID, []string{"aaa1", "01a2…aaa1", "01a2...aaa1", "task-…aaa1", "…aaa1", "01a2", "task-01a2", "task-01a211a0..."}},
		{"checkpoint show", checkpointID, []string{"bbb2", "01a2…bbb2", "01a2...bbb2", "01a211a0-8000", "order-1#4", "order-1"}},
		{"gate show", gateID, []string{"ccc3", "01a2…ccc3", "gate-01a2…ccc3", "gate-...ccc3", "gate-01a211a0-8000-7001-8001-00000000c", "order-1#4", "order-1"}},
		{"task show", taskID, []string{"eee5", "01a2…eee5", "gate-01a2...eee5", "order-1"}},
	} {
		for _, form := range c.forms {
			code, out, asked := s.run(t, false, append(strings.Fields(c.command), form)...)
			last := asked[len(asked)-1]
			if code != 3 || !strings.Contains(last, c.id) {
				t.Errorf("%s %s: exit code %d, and the server is asked %q last\n%s", c.command, form, code, last, out)
			}
		}
	}
}

// TestPartsOfIDs says which arguments stand for which id, and in what order they are looked for.
func TestPartsOfIDs(t *testing.T) {
	for _, c := range []struct {
		what, path, answer string // of the server, beside what it has
		terminal           bool
		args               string
		code               int
		want               string // a request, or what is printed
	}{
		{what: "a gate that was decided", args: "gate show ddd4", code: 3, want: "/api/gates/" + doneID + "/grant"},
		{what: "three characters", args: "gate show cc3", code: 3, want: "/api/gates/cc3/grant"},
		{what: "an unknown ending", args: "gate show ffff", code: 3, want: "/api/gates/ffff/grant"},
		{what: "an ending that many have", args: "gate show 01a211a0", code: 2, want: "refund of order-1"},
		{what: "a middle", args: "gate show 7001", code: 3, want: "/api/gates/7001/grant"},
		{what: "an entry that is not there", args: "gate show order-1#5", code: 3, want: "/api/gates/order-1%235/grant"},
		{what: "an entry of no number", args: "gate show order-1#x", code: 3, want: "/api/gates/order-1%23x/grant"},
		{
			what: "a thread named like an ending", path: "/api/threads/aaa1", answer: `{"thread":"aaa1"}`,
			args: "log aaa1", code: 3, want: "thread=aaa1",
		},
		{
			what: "a thread named like a checkpoint's ending", path: "/api/threads/bbb2", answer: `{"thread":"bbb2","branches":[{"branch":"main","head":"01a211a0-8000-7001-8001-0000000000f6"}]}`,
			args: "checkpoint show bbb2", code: 2, want: "head of bbb2",
		},
		{
			what: "a thread named like an entry", path: "/api/threads/order-1#4", answer: `{"thread":"order-1#4","branches":[{"branch":"main","head":"01a211a0-8000-7001-8001-0000000000f6"}]}`,
			args: "checkpoint show order-1#4", code: 2, want: "head of order-1#4",
		},
		{what: "a thread's ending, to look", args: "log aaa1", code: 3, want: "/api/threads/" + threadID},
		{what: "a thread's ending, in a script that changes it", args: "thread delete aaa1", code: 3, want: "/api/threads/aaa1"},
		{what: "a thread's ending, to change it", args: "thread delete aaa1", terminal: true, code: 3, want: "aaa1 is thread " + threadID},
		{what: "the beginning of a name that was given", args: "log orde", code: 3, want: "/api/threads/orde"},
		{what: "a thread that may not be there", args: "signal aaa1 paid --early", terminal: true, code: 3, want: "/api/threads/aaa1/signals/paid?early=true"},
		{what: "an entry, in a script", args: "resume order-1#4", code: 3, want: "/api/checkpoints/" + checkpointID + "/resume"},
		{what: "a beginning that all gates have", args: "gate show gate-...", code: 3, want: "/api/gates/gate-.../grant"},
		{what: "a thread's name, to cancel", args: "cancel order-1", code: 3, want: "posthouse thread cancel order-1"},
		{what: "an approval in a session", args: "gate show apr_ccc3", code: 3, want: "/api/approvals"},
	} {
		s := newShelf(t)
		if c.path != "" {
			s.answers[c.path] = c.answer
		}
		code, out, asked := s.run(t, c.terminal, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+strings.Join(asked, "\n"), c.want) {
			t.Errorf("%s (%s): exit code %d, want %d, with %q in\n%s%s", c.what, c.args, code, c.code, c.want, out, strings.Join(asked, "\n"))
		}
	}
}

// TestAmbiguousIDsAreListed: what stands for several ids is wrong usage, and at most ten are
// listed, with what they are.
func TestAmbiguousIDsAreListed(t *testing.T) {
	s := newShelf(t)
	var gates []string
	for i := range 12 {
		gates = append(gates, fmt.Sprintf(`{"id":"gate-01a211a0-8000-7001-8001-0000000%05d","name":"ask\u202e","thread":"order-%d"}`, i, i))
	}
	s.answers["/api/gates"] = "[" + strings.Join(gates, ",") + "]"
	code, out, asked := s.run(t, false, "approve", "01a211a0")
	if code != 2 || strings.Count(out, "\n  gate gate-01a211a0-") != 10 || !strings.Contains(out, "stands for 14 ids") || !strings.Contains(out, "4 more are not listed") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if strings.Contains(out, "\u202e") || !strings.Contains(out, "of order-3") {
		t.Errorf("a candidate hides something, or does not say what it is:\n%q", out)
	}
	if slices.ContainsFunc(asked, func(uri string) bool { return strings.HasSuffix(uri, "/approve") }) {
		t.Errorf("one was approved: %q", asked)
	}
	_, out, _ = s.run(t, false, "approve", "01a211a0", "--json")
	var answer struct {
		Error      struct{ Code string }
		Candidates []env.Candidate
	}
	err := json.Unmarshal([]byte(out), &answer)
	if err != nil || answer.Error.Code != "invalid" || len(answer.Candidates) != 10 {
		t.Errorf("in JSON it is %s\n%v", out, errors.Join(err))
	}
}

// TestFiltersAndExportsTakePartsOfIDs: --thread of lists takes the ending of a thread's id, and so do the
// exports, which ask no server. Of two that fit each is listed.
func TestFiltersAndExportsTakePartsOfIDs(t *testing.T) {
	const one, two = "01a211a0-8b11-7c01-b111-00000000667e", "01a211a0-8b11-7c01-b111-00000001667e"
	d := clitest.New(t)
	d.Path = filepath.Join(d.Path, "data")
	h, stop := d.Live(&clitest.Buffer{})
	for _, name := range []string{one, two, "order-667e"} {
		d.Save(h, name, "state of "+name)
	}
	at := []string{"--server", h.URL}
	clitest.Wants(t, "checkpoints of a thread", d.Run(0, append(at, "checkpoint", "list", "--thread", "0667e")...), one)
	clitest.Wants(t, "checkpoints of several", d.Run(2, append(at, "checkpoint", "list", "--thread", "667e")...), one, two)
	clitest.Wants(t, "checkpoints of a name", d.Run(0, append(at, "checkpoint", "list", "--thread", "order-667e")...), "order-667e")
	clitest.Wants(t, "the inbox of a thread", d.Run(0, append(at, "inbox", "--thread", "1667e")...), "nothing waits")
	clitest.Wants(t, "tasks of several", d.Run(2, append(at, "task", "list", "--thread", "667e")...), two)
	stop()
	for _, export := range [][]string{{"export"}, {"thread", "export"}} {
		clitest.Wants(t, strings.Join(export, " ")+" of several", d.Run(2, append(export, "667e")...), one, two)
		for part, want := range map[string]string{"1667e": two, "order-667e": "order-667e", "01a2...0667e": one} {
			file := filepath.Join(t.TempDir(), "out")
			d.Run(0, append(export, part, "--out", file)...)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if export[0] == "thread" && !bytes.Contains(data, []byte(want)) {
				t.Errorf("%v %s writes another thread than %s", export, part, want)
			}
		}
		clitest.Wants(t, strings.Join(export, " ")+" of no thread", d.Run(3, append(export, "99999")...), "99999")
	}
}
