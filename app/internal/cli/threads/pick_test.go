package threads_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestPickFromTheInbox: a person at a terminal who names no gate is shown what waits, and decides what
// was picked. The only question is picked by itself; a script must name one.
func TestPickFromTheInbox(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	clitest.Wants(t, "approve with an empty inbox", d.AtTerminal("", 3, "approve", "--server", d.URL), "nothing waits for a decision")
	first := string(d.Ask("first", "acme"))
	clitest.Wants(t, "approve of the only question", d.AtTerminal("n\n", 0, "approve", "--server", d.URL), `"to": "acme"`, "[y/N]", "nothing was decided")
	clitest.Wants(t, "gate show of the only question", d.AtTerminal("", 0, "gate", "show", "--server", d.URL), first)
	second := string(d.Ask("second", "bob"))
	clitest.Wants(t, "approve in a script", d.Run(2, "approve"), "GATE is required", "posthouse inbox lists them")
	clitest.Wants(t, "gate show in a script", d.Run(2, "gate", "show"), "GATE is required")
	for _, answer := range []string{"", "\n", "x\n", "0\n", "3\n", "-1\n"} {
		clitest.Wants(t, "no number of the list", d.AtTerminal(answer, 2, "approve", "--server", d.URL), "which? [1-2]", "nothing was chosen")
	}
	out := d.AtTerminal("2\ny\n", 1, "reject", "--reason", "no", "--server", d.URL)
	clitest.Wants(t, "reject of the second of the list", out, "1  pay: Pay this order?", "second", `"to": "acme"`, "rejected by operator")
	if left := strings.TrimSpace(d.Run(0, "inbox", "--quiet")); left != second {
		t.Errorf("the inbox has %q, want %q", left, second)
	}
}

// TestStateGet prints a state, and a part of it, of a thread's head and of a checkpoint.
func TestStateGet(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	d.Ask("order-1", "acme")
	clitest.Wants(t, "the state", d.Run(0, "state", "get", "order-1"), "{\n", `"To": "acme"`, `"Amount": 10`)
	for _, c := range []struct{ want, format string }{{"10\n", "table"}, {"10\n", "json"}, {"10\n", "jsonl"}, {"10\n", "yaml"}} {
		if got := d.Run(0, "state", "get", "order-1", "Amount", "-o", c.format); got != c.want {
			t.Errorf("a part as %s is %q, want %q", c.format, got, c.want)
		}
	}
	head := strings.TrimSpace(d.Run(0, "checkpoint", "list", "--thread", "order-1", "-q", "--limit", "1"))
	head, _, _ = strings.Cut(head, "\n")
	clitest.Wants(t, "a checkpoint's state", d.Run(0, "state", "get", head, "-o", "yaml"), "To: acme\n")
	clitest.Wants(t, "an unknown part", d.Run(3, "state", "get", "order-1", "amount"), "no part amount", "it has Amount, To")
	clitest.Wants(t, "an unknown branch", d.Run(3, "state", "get", "order-1", "--branch", "other"), "no branch other")
	clitest.Wants(t, "an unknown thread", d.Run(3, "state", "get", "nowhere"), "nowhere")
}

// TestProgramDraw prints what a drawing tool takes, and nothing else.
func TestProgramDraw(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	if out := d.Run(0, "program", "draw", "pay"); !strings.HasPrefix(out, "flowchart") && !strings.HasPrefix(out, "---") {
		t.Errorf("it prints %q", out)
	}
	clitest.Wants(t, "as JSON", d.Run(0, "program", "draw", "pay", "--json"), `"picture": "`)
	clitest.Wants(t, "an unknown program", d.Run(3, "program", "draw", "pya"), "pya")
}
