package sign_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// A payer puts gates and effects on record by hand.
type payer struct {
	t     *testing.T
	store *memstore.Store
	l     *ledger.Ledger
}

func newPayer(t *testing.T, c posthouse.Cipher) *payer {
	p := &payer{t: t, store: memstore.New()}
	p.l = must.Get(ledger.Open(p.store, &ledger.Options{Cipher: c, Now: newClock().Now}))(t)
	return p
}

func (p *payer) commit(d *ledger.Draft) *posthouse.Committed {
	p.t.Helper()
	return must.Get(p.l.Commit(p.t.Context(), d))(p.t)
}

// ask opens a gate that licenses so many effects.
func (p *payer) ask(thread string, uses int) *posthouse.Gate {
	p.t.Helper()
	return &p.commit(&ledger.Draft{
		Thread:     thread,
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Parts: []posthouse.Part{{Name: "state", Data: []byte(`1`)}}},
		Gates:      []posthouse.Gate{{Name: "pay", Uses: uses, Payload: json.RawMessage(`{"amount":7}`)}},
	}).Gates[0]
}

func (p *payer) decide(g *posthouse.Gate, v posthouse.Verdict) {
	p.t.Helper()
	must.Get(p.l.Decide(p.t.Context(), g.ID, posthouse.Decision{Verdict: v, By: "alice"}))(p.t)
}

// act puts an effect on record, as gate.Act does.
func (p *payer) act(thread, branch, name string, grant posthouse.ID) {
	p.t.Helper()
	step := func(name string) posthouse.Step {
		return posthouse.Step{Task: "t@1", Name: name, Effect: posthouse.EffectExternal, Grant: grant, Value: posthouse.Value{Codec: "json", Data: []byte(`1`)}}
	}
	d := &ledger.Draft{Thread: thread, Branch: branch}
	if grant != "" {
		d.Steps = append(d.Steps, step(name+">$use"))
	}
	d.Steps = append(d.Steps, step(name))
	p.commit(d)
}

func (p *payer) verify(o *sign.VerifyOptions) *sign.Report {
	p.t.Helper()
	return must.Get(sign.Verify(p.t.Context(), p.store, nil, o))(p.t)
}

func TestVerifyListsEffectsWithoutAGrant(t *testing.T) {
	p := newPayer(t, nil)
	g := p.ask("t", 1)
	p.decide(g, posthouse.Approve)
	p.act("t", "", "pay", g.ID)
	p.act("t", "", "mail", "")
	p.commit(&ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Node: "ship", Status: posthouse.StatusDone, Labels: map[string]string{"effect": "read+external"},
	}})
	r := p.verify(nil)
	if !r.OK() || r.Granted != 1 || len(r.Ungranted) != 2 {
		t.Fatalf("%+v", r)
	}
	if a, b := r.Ungranted[0].String(), r.Ungranted[1].String(); !strings.Contains(a, `thread "t" entry 4`) || !strings.Contains(a, `step "mail"`) || !strings.Contains(b, `node "ship"`) {
		t.Errorf("%s\n%s", a, b)
	}
	if r := p.verify(&sign.VerifyOptions{RequireGrants: true}); len(r.Faults) != 2 || r.Faults[0].Kind != sign.FaultGrant {
		t.Errorf("r.Faults %+v", r.Faults)
	}
}

func TestVerifyFindsWhatAGrantDoesNotLicense(t *testing.T) {
	ring := must.Get(crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte("k"), 32)}, "k1"))(t)
	for name, tc := range map[string]struct {
		want   string
		sealed string // what is found without the key; "": nothing
		run    func(p *payer)
	}{
		"undecided": {"was not decided by then", "was not decided by then", func(p *payer) {
			g := p.ask("t", 1)
			p.act("t", "", "pay", g.ID)
			p.decide(g, posthouse.Approve)
		}},
		"refused": {"reject, by alice", "reject, by alice", func(p *payer) {
			g := p.ask("t", 1)
			p.decide(g, posthouse.Reject)
			p.act("t", "", "pay", g.ID)
		}},
		"used more often": {"licenses 1", "", func(p *payer) {
			g := p.ask("t", 1)
			p.decide(g, posthouse.Approve)
			p.act("t", "", "pay", g.ID)
			p.act("t", "", "pay again", g.ID)
		}},
		"a question": {"licenses none", "", func(p *payer) {
			g := p.ask("t", 0)
			p.decide(g, posthouse.Approve)
			p.act("t", "", "pay", g.ID)
		}},
		"another branch": {"another branch", "another branch", func(p *payer) {
			g := p.ask("t", 1)
			p.decide(g, posthouse.Approve)
			f := must.Get(p.l.Fork(p.t.Context(), g.Checkpoint, &ledger.ForkOptions{Branch: "b"}))(p.t)
			p.act("t", f.Branch, "pay", g.ID)
		}},
		"another thread": {"another thread", "another thread", func(p *payer) {
			g := p.ask("t", 1)
			p.decide(g, posthouse.Approve)
			p.ask("other", 1)
			p.act("other", "", "pay", g.ID)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				cipher posthouse.Cipher
				want   string
			}{{nil, tc.want}, {ring, tc.sealed}} {
				p := newPayer(t, c.cipher)
				tc.run(p)
				r := p.verify(nil)
				if c.want == "" {
					if !r.OK() {
						t.Errorf("sealed: %v", r.Faults)
					}
				} else if len(r.Faults) != 1 || r.Faults[0].Kind != sign.FaultGrant || !strings.Contains(r.Faults[0].Message, c.want) {
					t.Errorf("sealed %v: %v", c.cipher != nil, r.Faults)
				}
			}
		})
	}
}

// Effects that copies and forks take along are licensed where they come from.
func TestVerifyKnowsCarriedEffects(t *testing.T) {
	p := newPayer(t, nil)
	g := p.ask("t", 1)
	p.decide(g, posthouse.Approve)
	p.act("t", "", "pay", g.ID)
	must.Get(p.l.Fork(t.Context(), g.Checkpoint, &ledger.ForkOptions{Branch: "b"}))(t)
	c := p.commit(&ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}})
	must.Get(p.l.Fork(t.Context(), c.Checkpoint.ID, &ledger.ForkOptions{Thread: "fork"}))(t)
	if _, err := transfer.CopyThread(t.Context(), p.l, "t", "copy", nil); err != nil {
		t.Fatal(err)
	}
	r := p.verify(nil)
	if !r.OK() || len(r.Ungranted) != 0 || r.Granted < 3 {
		t.Errorf("%+v", r)
	}
	if _, err := retain.DeleteThread(t.Context(), p.l, "t", nil); err != nil {
		t.Fatal(err)
	}
	if r := p.verify(nil); !r.OK() || len(r.Ungranted) == 0 || !strings.Contains(r.Ungranted[0].Message, "not any more") {
		t.Errorf("with its origin gone: %+v", r)
	}
}

// An auditor reads in an export what ran, who approved it and what exactly.
func TestExportNamesApprovers(t *testing.T) {
	p := newPayer(t, nil)
	g := p.ask("t", 1)
	must.Get(p.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte(`{"amount":5}`)}))(t)
	p.act("t", "", "pay", g.ID)
	p.act("t", "", "mail", "")
	var b bytes.Buffer
	if err := statement.Export(t.Context(), p.store, "t", must.Get(sign.Generate())(t), &b, nil); err != nil {
		t.Fatal(err)
	}
	var envelope struct{ Payload []byte }
	var trail struct {
		Effects []struct {
			Name, Status, Effect, Grant, Question, Verdict, By string
			Content                                            json.RawMessage
		}
	}
	if err := json.Unmarshal(b.Bytes(), &envelope); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(envelope.Payload, &trail); err != nil {
		t.Fatal(err)
	}
	if len(trail.Effects) != 2 {
		t.Fatalf("trail %+v", trail)
	}
	if e := trail.Effects[0]; e.Name != "pay" || e.Status != "executed" || e.Effect != "external" || e.Grant != string(g.ID) || e.By != "alice" || e.Verdict != "edit" || string(e.Content) != `{"amount":5}` {
		t.Errorf("%+v", e)
	}
	if e := trail.Effects[1]; e.Name != "mail" || e.Grant != "" || e.By != "" {
		t.Errorf("%+v", e)
	}
}
