package snippets_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/posthousetest"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/transfer"
)

type Repayment struct {
	Order  string
	Amount int
}

//doc:program

// A Desk refunds orders by what it is given: in production a bank and a mail server.
type Desk struct {
	Pay  func(context.Context, Repayment) (string, error)
	Tell func(ctx context.Context, receipt string) (bool, error)
}

func (d *Desk) Refund(ctx context.Context, p Repayment) (string, error) {
	grant, err := gate.Propose(ctx, gate.Question{Name: "refund", Text: "Refund " + p.Order + "?", Expires: 48 * time.Hour}, p)
	if errors.Is(err, posthouse.ErrForbidden) || errors.Is(err, posthouse.ErrExpired) {
		return "no refund", nil
	}
	if err != nil {
		return "", err
	}
	receipt, err := gate.Act(ctx, "pay", grant, d.Pay)
	if err != nil {
		return "", err
	}
	_, err = step.Do(ctx, "tell", func(ctx context.Context) (bool, error) { return d.Tell(ctx, receipt) })
	return receipt, err
}

//doc:end

//doc:first
func TestRefund(t *testing.T) {
	bank, mail, open := doubles(t)
	env := posthousetest.New(t, open, nil)
	env.Answer("refund", posthousetest.Approve("ann"))
	thread := env.Start("refund", "order-1234", Repayment{"1234", 40}).Done()

	var receipt string
	if thread.Decode("output", &receipt); receipt != "receipt for 1234" {
		t.Errorf("the output is %q", receipt)
	}
	bank.Once()
	mail.Once()
}

// doubles returns a bank and a mail server that remember their calls, and what opens the flow over a Ledger.
func doubles(t *testing.T) (bank *posthousetest.Tool[Repayment, string], mail *posthousetest.Tool[string, bool], open posthousetest.Open) {
	bank = posthousetest.NewTool(t, "bank", func(_ context.Context, p Repayment) (string, error) { return "receipt for " + p.Order, nil })
	mail = posthousetest.NewTool[string, bool](t, "mail", nil)
	desk := &Desk{Pay: bank.Call, Tell: mail.Call}
	return bank, mail, func(led *ledger.Ledger) ([]posthouse.Program, error) {
		app, err := flow.New("refund", desk.Refund).Open(led, nil)
		return []posthouse.Program{app}, err
	}
}

//doc:end

func TestScriptOfThePage(t *testing.T) {
	bank, _, open := doubles(t)
	//doc:script
	env := posthousetest.New(t, open, nil)
	env.Answer("refund", posthousetest.Edit("ann", Repayment{"1234", 25})) // for the first thread that asks
	env.Answer("refund", posthousetest.Reject("bob", "too late"))          // for the second
	env.Start("refund", "order-1234", Repayment{"1234", 40}).Done()
	env.Start("refund", "order-1235", Repayment{"1235", 40}).Done().NotActed("pay")
	if paid := bank.Once().In; paid.Amount != 25 {
		t.Errorf("the bank paid %+v", paid)
	}
	//doc:end
}

func TestTimeOfThePage(t *testing.T) {
	bank, _, open := doubles(t)
	//doc:time
	env := posthousetest.New(t, open, nil)
	thread := env.Start("refund", "order-1234", Repayment{"1234", 40})
	env.Advance(47 * time.Hour)
	thread.Must(posthouse.StatusWaiting)
	env.Advance(time.Hour) // the question expires
	thread.Done()
	bank.Times(0)
	//doc:end
}

func TestKillOfThePage(t *testing.T) {
	bank, mail, open := doubles(t)
	env := posthousetest.New(t, open, nil)
	//doc:kill
	env.Answer("refund", posthousetest.Approve("ann"))
	env.Kill(posthousetest.After("pay"))
	env.Start("refund", "order-1234", Repayment{"1234", 40}).Done()
	bank.Times(1) // the payment is on record, so the next process does not make it again
	mail.Times(1)
	//doc:end
}

//doc:every
func TestNothingIsPaidTwice(t *testing.T) {
	posthousetest.EveryKill(t, func(t *testing.T, k *posthousetest.Kill) {
		bank, mail, open := doubles(t)
		env := posthousetest.New(t, open, &posthousetest.Options{Kill: k, Tools: []posthousetest.Witness{bank}})
		env.Answer("refund", posthousetest.Approve("ann"))
		env.Start("refund", "order-1234", Repayment{"1234", 40}).Done()
		bank.Times(1)
		mail.Once()
	})
}

//doc:end

//doc:client

// payOverHTTP has a bank make payments.
func payOverHTTP(client *http.Client, url string) func(context.Context, Repayment) (string, error) {
	return func(ctx context.Context, p Repayment) (string, error) {
		body, err := json.Marshal(p)
		if err != nil {
			return "", err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return "", err
		}
		r.Header.Set("Idempotency-Key", step.Key(ctx))
		resp, err := client.Do(r)
		if err != nil {
			return "", err // it may have paid
		}
		defer resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK:
			var out struct{ Payment string }
			err := json.NewDecoder(resp.Body).Decode(&out)
			return out.Payment, err
		case http.StatusPaymentRequired:
			return "", gate.NotDone(errors.New("the bank refused the payment")) // its word
		default:
			return "", errors.New("the bank answered with " + resp.Status)
		}
	}
}

//doc:end

func TestBankOfThePage(t *testing.T) {
	//doc:bank
	bank := posthousetest.NewBank(t)
	bank.Next(posthousetest.BankRefuses) // the first; it pays those that follow
	desk := &Desk{Pay: payOverHTTP(bank.Client, bank.URL), Tell: posthousetest.NewTool[string, bool](t, "mail", nil).Call}
	env := posthousetest.New(t, desk.open, nil)
	env.Answer("refund", posthousetest.Approve("ann"))
	env.Start("refund", "order-1234", Repayment{"1234", 40}).Must(posthouse.StatusFailed).NotActed("pay")
	bank.Times(0)
	//doc:end
}

func (d *Desk) open(led *ledger.Ledger) ([]posthouse.Program, error) {
	app, err := flow.New("refund", d.Refund).Open(led, nil)
	return []posthouse.Program{app}, err
}

func TestEffectsOfThePage(t *testing.T) {
	_, _, open := doubles(t)
	env := posthousetest.New(t, open, nil)
	env.Answer("refund", posthousetest.Approve("ann"))
	//doc:effects
	thread := env.Start("refund", "order-1234", Repayment{"1234", 40}).Done()
	if paid := thread.Acted("pay"); paid.By() != "ann" { // exactly one is on record as executed
		t.Errorf("it was paid under the decision of %s", paid.By())
	}
	//doc:end
}

func TestReplayOfThePage(t *testing.T) {
	_, _, open := doubles(t)
	env := posthousetest.New(t, open, nil)
	env.Answer("refund", posthousetest.Approve("ann"))
	//doc:replay
	env.Start("refund", "order-1234", Repayment{"1234", 40}).Done().CheckReplay()
	//doc:end

	t.Chdir(t.TempDir())
	ok(os.Mkdir("testdata", 0o700))
	exported := must(os.Create("testdata/order-1234.thread"))
	must(transfer.Export(t.Context(), env.Ledger(), "order-1234", exported, nil))
	ok(exported.Close())
	replayFiles(t, open)
}

// replayFiles tries programs on threads that were exported.
func replayFiles(t *testing.T, open posthousetest.Open) {
	//doc:import
	files := must(filepath.Glob("testdata/*.thread"))
	for _, name := range files {
		file := must(os.Open(name))
		posthousetest.New(t, open, nil).Import(file).CheckReplay()
		ok(file.Close())
	}
	//doc:end
	if len(files) != 1 {
		t.Errorf("the page tries %q", files)
	}
}
