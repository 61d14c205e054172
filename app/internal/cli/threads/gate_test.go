package threads_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestPromptShowsWhatRuns: the question before a decision has text and content, with hidden characters marked
// and a warning, each line after a bar; so has gate show. A decided gate is not asked.
func TestPromptShowsWhatRuns(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	g := string(d.Ask("t", "ac\u202eme\u3164"))
	content := []string{"\n  | Pay this order?\n", "\n  |   \"amount\": 10", `"to": "ac\u202eme\u3164"`, "‹U+202E›", "‹U+3164›", "warning"}
	for what, out := range map[string]string{
		"gate show": d.Run(0, "gate", "show", g),
		"approve":   d.AtTerminal("n\n", 0, "approve", g, "--server", d.URL),
		"edit":      d.AtTerminal("n\n", 0, "edit", g, "--value", `{"to":"bob","amount":7}`, "--server", d.URL),
	} {
		clitest.Wants(t, what, out, content...)
		if bad := text.HiddenIn(out); bad != nil {
			t.Errorf("%s prints %v raw", what, bad)
		}
		switch what {
		case "edit":
			clitest.Wants(t, what, out, `"amount": 7`, "nothing was decided")
		case "approve":
			clitest.Wants(t, what, out, "approve pay: Pay this order? [y/N]", "nothing was decided")
		}
	}
	clitest.Wants(t, "gate show --json", d.Run(0, "gate", "show", g, "--json"), `ac\u202eme\u3164`)
	out := d.AtTerminal("y\n", 0, "approve", g, "--reason", "fi\u200bne", "--server", d.URL)
	clitest.Wants(t, "approve with yes", out, "fi‹U+200B›ne", "done")
	out = d.AtTerminal("", 4, "approve", g, "--server", d.URL)
	if strings.Contains(out, "[y/N]") || !strings.Contains(out, "approve by") {
		t.Errorf("a second approval first asks, or does not say who decided:\n%s", out)
	}
	clitest.Wants(t, "gate show of a decided one", d.Run(0, "gate", "show", g), "approved by", "next: posthouse grant "+g)
}

// TestMixedScriptsAreMarked: a letter of another script than its word's is marked wherever a question is read, and what
// shows it whole says so. A shell completes names as they are.
func TestMixedScriptsAreMarked(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	g := string(d.Ask("оrder-7", "Аcme"))
	const warning = "warning: letters of another script stand inside of words: "
	for what, out := range map[string]string{
		"gate show": d.Run(0, "gate", "show", g),
		"grant":     d.Run(0, "grant", g),
		"approve":   d.AtTerminal("n\n", 0, "approve", g, "--server", d.URL),
	} {
		clitest.Wants(t, what, out, `"to": "\u0410cme"`, warning+"‹Cyrillic А›;", "‹Cyrillic о›rder-7")
		if strings.Contains(out, "Аcme") || strings.Contains(out, "оrder") {
			t.Errorf("%s shows a letter as if it were another:\n%s", what, out)
		}
	}
	clitest.Wants(t, "inbox", d.Run(0, "inbox"), "‹Cyrillic о›rder-7")
	clitest.Wants(t, "inbox --json", d.Run(0, "inbox", "--json"), `"to": "Аcme"`)
	clitest.Wants(t, "completion", d.Complete("thread", "show", ""), "оrder-7\t")
	clitest.Wants(t, "approve with a reason", d.Run(0, "approve", g, "--reason", "fоr dana"), warning+"‹Cyrillic о›;")
}

// TestPromptOfAnApprovalInASession is as of a gate.
func TestPromptOfAnApprovalInASession(t *testing.T) {
	answered := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			fmt.Fprint(w, `[{"id":"apr_1","kind":"session","name":"shell","text":"Run it?","payload":{"command":"rm -r /tmp/\u202ex"},"may":["approve"]}]`)
		default:
			answered = r.URL.Path
			fmt.Fprint(w, `{"id":"apr_1","decision":{"verdict":"approve","by":"alice"}}`)
		}
	}))
	defer s.Close()
	e := clitest.New(t)
	if err := os.WriteFile(filepath.Join(e.Path, "token"), []byte("ph_x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := e.AtTerminal("n\n", 0, "approve", "apr_1", "--server", s.URL)
	clitest.Wants(t, "the prompt", out, "Run it?", `"command": "rm -r /tmp/\u202ex"`, "approve shell: Run it? [y/N]", "warning")
	if answered != "" {
		t.Errorf("it was answered with %s", answered)
	}
	e.AtTerminal("y\n", 0, "approve", "apr_1", "--server", s.URL)
	if answered != "/api/approvals/apr_1/approve" {
		t.Errorf("yes was sent as %q", answered)
	}
	clitest.Wants(t, "gate show", e.Run(0, "gate", "show", "apr_1", "--server", s.URL), "Run it?", "rm -r")
}

// TestQuestionNamesAuthorsOfChanges: a question that several people made names each of them with
// what they did, in the prompt before a decision, in gate show, in grant and in both answers
// of the API; the inbox names them.
func TestQuestionNamesAuthorsOfChanges(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	g, err := d.Ledger.Gate(t.Context(), d.Ask("t", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	dear := &ledger.ForkOptions{Branch: "dear", By: "mallory", Patch: posthouse.State{"Amount": {Codec: "json", Data: []byte("99999")}}}
	f, err := d.Ledger.Fork(t.Context(), g.Checkpoint, dear)
	for errors.Is(err, posthouse.ErrBusy) { // the server's runner looks at each thread that changed
		f, err = d.Ledger.Fork(t.Context(), g.Checkpoint, dear)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := d.Run(0, "resume", string(f.ID))
	found := regexp.MustCompile(`gate-[0-9a-f-]+`).FindString(out)
	if found == "" || found == string(g.ID) {
		t.Fatalf("no new question: %s", out)
	}
	clitest.Wants(t, "the question", d.Run(0, "gate", "show", found), "99999")
	const who = "mallory (fork Amount)"
	for what, out := range map[string]string{
		"gate show": d.Run(0, "gate", "show", found),
		"grant":     d.Run(0, "grant", found),
		"prompt":    d.AtTerminal("n\n", 0, "approve", found, "--server", d.URL),
	} {
		clitest.Wants(t, what, out, who)
	}
	clitest.Wants(t, "inbox", d.Run(0, "inbox"), "mallory")
	for what, out := range map[string]string{"gate show": d.Run(0, "gate", "show", found, "--json"), "grant": d.Run(0, "grant", found, "--json"), "inbox": d.Run(0, "inbox", "--json")} {
		clitest.Wants(t, what+" --json", out, `"name": "mallory"`, `"how": "fork"`, `"Amount"`)
	}
}

// TestGateShowWarnsOfAnotherBranch: two branches that ask the same name each other, in gate show and in
// the prompt before a decision.
func TestGateShowWarnsOfAnotherBranch(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	g := d.Ask("t", "acme")
	asked, err := d.Ledger.Gate(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Ledger.Fork(t.Context(), asked.Checkpoint, &ledger.ForkOptions{By: "olga"})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Wants(t, "gate show", d.Run(0, "gate", "show", string(g)), "warning: branch fork-1 asks the same: Pay this order? ("+string(f.Gates[0])+", open); approve both, and it is done twice")
	clitest.Wants(t, "approve", d.AtTerminal("n\n", 0, "approve", string(f.Gates[0]), "--server", d.URL), "warning: branch main asks the same", "nothing was decided")
	away, err := d.Ledger.Fork(t.Context(), asked.Checkpoint, &ledger.ForkOptions{By: "olga", Thread: "other"})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Wants(t, "gate show of a fork in a thread of its own", d.Run(0, "gate", "show", string(away.Gates[0])), "warning: branch main of thread t asks the same: ")
	clitest.Wants(t, "gate show of its source", d.Run(0, "gate", "show", string(g)), "warning: branch main of thread other asks the same: ")
	byHand := must.Get(d.Ledger.Commit(t.Context(), &ledger.Draft{Thread: "by-hand", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindSave, Status: posthouse.StatusWaiting,
	}, Gates: []posthouse.Gate{{Name: "pay", Text: "Pay by hand?"}}}))(t)
	must.Get(d.Ledger.Fork(t.Context(), byHand.Checkpoint.ID, &ledger.ForkOptions{Thread: "by-hand-fork"}))(t)
	clitest.Wants(t, "gate show of what was saved by hand", d.Run(0, "gate", "show", string(byHand.Gates[0].ID)), "warning: branch main of thread by-hand-fork asks the same: ")
	d.Run(0, "approve", string(g))
	clitest.Wants(t, "gate show after a yes", d.Run(0, "gate", "show", string(f.Gates[0])), "warning: branch main asks the same", "approved by")
}
