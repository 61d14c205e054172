package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/internal/text"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// atTerminal runs a command line as a person who types an answer.
func (e *encrypted) atTerminal(answer string, code int, args ...string) string {
	e.t.Helper()
	var out bytes.Buffer
	a := &app{env: func(string) string { return "" }}
	a.Term = term.Term{In: strings.NewReader(answer), Out: &out, Err: &out, Interactive: true}
	if got := a.run(e.t.Context(), append(args, "--data-dir", e.dir)); got != code {
		e.t.Errorf("%v: exit code %d, want %d\n%s", args, got, code, &out)
	}
	return out.String()
}

// TestPromptShowsWhatRuns: the question before a decision has text and content, with what
// is hidden in them marked and a warning; so has gate show. A decided gate is not asked.
func TestPromptShowsWhatRuns(t *testing.T) {
	d := openDesk(t, memstore.New())
	g := string(d.ask("t", "ac\u202eme\u3164"))
	content := []string{"Pay this order?", `"amount": 10`, `"to": "ac\u202eme\u3164"`, "‹U+202E›", "‹U+3164›", "warning"}
	for what, out := range map[string]string{
		"gate show": d.run(0, "gate", "show", g),
		"approve":   d.atTerminal("n\n", 0, "approve", g, "--server", d.url),
		"edit":      d.atTerminal("n\n", 0, "edit", g, "--value", `{"to":"bob","amount":7}`, "--server", d.url),
	} {
		wants(t, what, out, content...)
		if bad := text.HiddenIn(out); bad != nil {
			t.Errorf("%s prints %v raw", what, bad)
		}
		switch what {
		case "edit":
			wants(t, what, out, `"amount": 7`, "nothing was decided")
		case "approve":
			wants(t, what, out, "approve pay: Pay this order? [y/N]", "nothing was decided")
		}
	}
	wants(t, "gate show --json", d.run(0, "gate", "show", g, "--json"), `ac\u202eme\u3164`)
	out := d.atTerminal("y\n", 0, "approve", g, "--reason", "fi\u200bne", "--server", d.url)
	wants(t, "approve with yes", out, "fi‹U+200B›ne", "done")
	out = d.atTerminal("", 4, "approve", g, "--server", d.url)
	if strings.Contains(out, "[y/N]") || !strings.Contains(out, "approve by") {
		t.Errorf("a second approval first asks, or does not say who decided:\n%s", out)
	}
	wants(t, "gate show of a decided one", d.run(0, "gate", "show", g), "approved by", "next: posthouse grant "+g)
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
	e := &encrypted{t: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(e.dir, "token"), []byte("ph_x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := e.atTerminal("n\n", 0, "approve", "apr_1", "--server", s.URL)
	wants(t, "the prompt", out, "Run it?", `"command": "rm -r /tmp/\u202ex"`, "approve shell: Run it? [y/N]", "warning")
	if answered != "" {
		t.Errorf("it was answered with %s", answered)
	}
	e.atTerminal("y\n", 0, "approve", "apr_1", "--server", s.URL)
	if answered != "/api/approvals/apr_1/approve" {
		t.Errorf("yes was sent as %q", answered)
	}
	wants(t, "gate show", e.cli(0, "gate", "show", "apr_1", "--server", s.URL), "Run it?", "rm -r")
}

// TestQuestionSaysWhoChangedWhat: a question that several people made names each of them with
// what they did, in the prompt before a decision, in gate show, in grant and in both answers
// of the API; the inbox names them.
func TestQuestionSaysWhoChangedWhat(t *testing.T) {
	d := openDesk(t, memstore.New())
	g, err := d.ledger.Gate(t.Context(), d.ask("t", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.ledger.Fork(t.Context(), g.Checkpoint, &ledger.ForkOptions{
		Branch: "dear", By: "mallory", Patch: posthouse.State{"Amount": {Codec: "json", Data: []byte("99999")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := d.run(0, "resume", string(f.ID))
	found := regexp.MustCompile(`gate-[0-9a-f-]+`).FindString(out)
	if found == "" || found == string(g.ID) {
		t.Fatalf("no new question: %s", out)
	}
	wants(t, "the question", d.run(0, "gate", "show", found), "99999")
	const who = "mallory (fork Amount)"
	for what, out := range map[string]string{
		"gate show": d.run(0, "gate", "show", found),
		"grant":     d.run(0, "grant", found),
		"prompt":    d.atTerminal("n\n", 0, "approve", found, "--server", d.url),
	} {
		wants(t, what, out, who)
	}
	wants(t, "inbox", d.run(0, "inbox"), "mallory")
	for what, out := range map[string]string{"gate show": d.run(0, "gate", "show", found, "--json"), "grant": d.run(0, "grant", found, "--json"), "inbox": d.run(0, "inbox", "--json")} {
		wants(t, what+" --json", out, `"name": "mallory"`, `"how": "fork"`, `"Amount"`)
	}
}
