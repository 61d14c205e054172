package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
)

func TestPersons(t *testing.T) {
	for _, name := range []string{"", "alice", "Alice B. Carol", "user@example.com", "al\u0456ce", "日本", "José", "jose\u0301", "👩", strings.Repeat("x", posthouse.MaxID)} {
		if err := posthouse.CheckPerson("by", name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for name, says := range map[string]string{
		"al\u200bice": "U+200B", "alice\u200d": "U+200D", "\ufeffalice": "U+FEFF", "\u202ealice": "U+202E", "al\u2066ice": "U+2066", "al\u00adice": "U+00AD",
		"alice\u2028": "U+2028", "al\u3164ice": "U+3164", "al\u034fice": "U+034F", "alice\ufe0f": "U+FE0F", "al\U000e0061ice": "U+E0061",
		"alice\n": "U+000A", "al\x7fice": "U+007F", "al\u0085ice": "U+0085", "alice ": "U+0020", " alice": "U+0020", "\u00a0alice": "U+00A0", "alice\u3000": "U+3000", " ": "U+0020",
		"al\xffice": "UTF-8", strings.Repeat("x", posthouse.MaxID+1): "limit",
	} {
		var e *posthouse.Error
		err := posthouse.CheckPerson("by", name)
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "by" || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want an error that says %s", name, err, says)
		}
	}
}

// TestNamesOfPoliciesCannotDecide refuses names under which an answer would escape
// the rules that hold for people's.
func TestNamesOfPoliciesCannotDecide(t *testing.T) {
	for _, name := range []string{"policy:judge", "worker:gpu-1", "policy:", "posthouse", ""} {
		var e *posthouse.Error
		if err := posthouse.CheckDecider("by", name); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "by" {
			t.Errorf("%q: %v", name, err)
		}
		l := &Ledger{core: &commit.Committer{Core: &core.Core{}, Rules: &commit.Rules{}}}
		if err := checkDecision(l.core, &posthouse.Decision{Verdict: posthouse.Approve, By: name}); !errors.As(err, &e) || e.Field != "by" {
			t.Errorf("%q approves: %v", name, err)
		}
		if err := checkDecision(l.core, &posthouse.Decision{Verdict: posthouse.Cancel, By: name}); !errors.As(err, &e) || e.Field != "verdict" {
			t.Errorf("%q decides to cancel: %v", name, err)
		}
		if name == posthouse.RuntimeActor {
			continue
		}
		if _, err := l.Withdraw(t.Context(), "gate-1", Withdrawal{By: name, Operator: true}); !errors.As(err, &e) || e.Field != "by" {
			t.Errorf("%q withdraws: %v", name, err)
		}
	}
	if err := posthouse.CheckDecider("by", "policy maker"); err != nil {
		t.Error(err)
	}
}
