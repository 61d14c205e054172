package threads_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/app/internal/cli/clitest"
)

// TestInboxSaysWhatItLacks: a gate that cannot be read is a line like the others
// and exit code 8, and a list that was cut says so.
func TestInboxSaysWhatItLacks(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("limit") == "3" {
			w.Header().Set("X-Next-Cursor", "gate-3")
		}
		fmt.Fprint(w, `[{"id":"gate-1","thread":"a","error":{"detail":"record 1 is damaged","hint":"verify"}},
			{"id":"gate-2","thread":"b","name":"refund","text":"Refund?"},{"id":"gate-3","thread":"c","name":"refund"}]`)
	}))
	defer s.Close()
	e := clitest.New(t)
	out := e.Run(8, "inbox", "--server", s.URL)
	for _, want := range []string{"gate-1  cannot be read: record 1 is damaged", "gate-2  refund: Refund?", "gate-3", "next: posthouse approve gate-2"} {
		if !strings.Contains(out, want) {
			t.Errorf("the inbox lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "there are more") {
		t.Errorf("there are no more:\n%s", out)
	}
	out = e.Run(8, "inbox", "--server", s.URL, "--limit", "2")
	if !strings.Contains(out, "there are more: --limit 0 shows all") || strings.Contains(out, "gate-3") {
		t.Errorf("two of three:\n%s", out)
	}
}

// TestInboxOfNobody: a person with an empty name is refused before anything is listed.
func TestInboxOfNobody(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL) }))
	defer s.Close()
	for _, flag := range []string{"assignee", "assigned", "decider", "requester"} {
		if out := clitest.New(t).Run(2, "inbox", "--server", s.URL, "--"+flag, ""); !strings.Contains(out, flag) || !strings.Contains(out, "names no person") {
			t.Errorf("--%s: %s", flag, out)
		}
	}
}

// TestInboxSaysWhatIsLicensed: an approval of more than one effect does not look like one of one.
func TestInboxSaysWhatIsLicensed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `[{"id":"gate-1","thread":"a","name":"pay","text":"Pay?","uses":3,"validFor":7200000000000},{"id":"gate-2","thread":"b","name":"pay","text":"Pay?","uses":1}]`)
	}))
	defer s.Close()
	out := clitest.New(t).Run(0, "inbox", "--server", s.URL)
	if !strings.Contains(out, "Pay? (up to 3 effects, for 2 hours from the decision)") || strings.Count(out, "effect") != 1 {
		t.Errorf("the inbox is\n%s", out)
	}
}

// TestListedCheckpointThatCannotBeRead is marked, and the exit code is 8, also
// where the list is JSON.
func TestListedCheckpointThatCannotBeRead(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		damaged := ""
		if r.URL.Query().Get("state") != "false" {
			name := "error"
			if strings.HasPrefix(r.URL.Path, "/api/checkpoints") {
				name = "problem"
			}
			damaged = `,"` + name + `":{"detail":"record 0 is damaged","hint":"verify"}`
		}
		fmt.Fprint(w, `[{"id":"cp-1","kind":"node","size":10,"thread":"a"`+damaged+`},{"id":"cp-2","kind":"node","size":20,"thread":"b"}]`)
	}))
	defer s.Close()
	e := clitest.New(t)
	out := e.Run(8, "checkpoint", "list", "--states", "--server", s.URL)
	if strings.Count(out, "cannot be read: record 0 is damaged") != 1 || !strings.Contains(out, "cp-2") || !strings.Contains(out, "waits on: verify") {
		t.Errorf("the list is\n%s", out)
	}
	for _, list := range [][]string{{"checkpoint", "list", "--states"}, {"inbox"}, {"inbox", "--session"}} {
		if out := e.Run(8, append(list, "--json", "--server", s.URL)...); !strings.Contains(out, `"cp-2"`) {
			t.Errorf("%q: the list as JSON is\n%s", list, out)
		}
	}
	if out := e.Run(0, "checkpoint", "list", "--server", s.URL); strings.Contains(out, "cannot") {
		t.Errorf("without states:\n%s", out)
	}
}

// TestDeletedThreadWithAnError: what went is printed, and why something it
// waited for goes on; that is the exit code.
func TestDeletedThreadWithAnError(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"checkpoints":3,"gates":1,"error":{"title":"Conflict","status":409,"code":"busy","detail":"the thread is gone; somebody runs the other"}}`)
	}))
	defer s.Close()
	e := clitest.New(t)
	for _, x := range []struct{ want, flag string }{{"deleted: checkpoints 3", "--yes"}, {`"checkpoints": 3`, "--json"}} {
		out := e.Run(4, "thread", "delete", "t", "--yes", x.flag, "--server", s.URL)
		if !strings.Contains(out, x.want) || !strings.Contains(out, "somebody runs the other") {
			t.Errorf("%s: the deletion prints\n%s", x.flag, out)
		}
	}
}
