package flow_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// Somebody who can write to the database and has not the key approves a payment in another's name, or
// casts one of two votes. A program on a Ledger with the key pays nothing: it asks again, and says why. The
// control is the same by a Ledger with the key.
func TestAnUnsignedDecisionLicensesNothing(t *testing.T) {
	ctx := t.Context()
	for name, quorum := range map[string]*posthouse.Quorum{"a decision": nil, "one of two votes": {Need: 2}} {
		for _, forged := range []bool{true, false} {
			for _, store := range []posthouse.Store{memstore.New(), must.Get(sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "x.db"), nil))(t)} {
				t.Cleanup(func() { _ = store.Close() })
				key := must.Get(sign.Generate())(t)
				server := must.Get(ledger.Open(store, &ledger.Options{Signer: key, Validate: gate.Validator()}))(t)
				paid := 0
				pay := flow.New("pay", func(ctx context.Context, amount int) (string, error) {
					g, err := gate.Propose(ctx, gate.Question{Name: "pay?", Quorum: quorum}, amount)
					if err != nil {
						return "", err
					}
					return gate.Act(ctx, "pay", g, func(context.Context, int) (string, error) {
						paid++
						return "paid", nil
					})
				})
				app := must.Get(pay.Open(server, nil))(t)
				out := must.Get(app.Run(ctx, "t", 40))(t)
				forger := server
				if forged {
					forger = must.Get(ledger.Open(store, &ledger.Options{Validate: gate.Validator()}))(t)
				}
				first := out.Waiting[0].ID
				must.Get(forger.Decide(ctx, first, posthouse.Decision{Verdict: posthouse.Approve, By: "the-cfo"}))(t)
				if quorum != nil {
					server = must.Get(ledger.Open(store, &ledger.Options{Signer: key, Validate: gate.Validator()}))(t)
					app = must.Get(pay.Open(server, nil))(t)
					must.Get(server.Decide(ctx, first, posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}))(t)
				}
				out, err := app.Resume(ctx, "t")
				if !forged {
					if err != nil || paid != 1 {
						t.Errorf("%s with the key: paid %d times, %v", name, paid, err)
					}
					continue
				}
				if paid != 0 || err != nil || len(out.Waiting) != 1 || out.Waiting[0].ID == first || !strings.Contains(out.Waiting[0].Note, "no signature") {
					t.Fatalf("%s without the key: paid %d times, %+v, %v", name, paid, out, err)
				}
				for _, by := range []string{"ann", "bob"} {
					_, err := server.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: by})
					if err != nil && (quorum != nil || !errors.Is(err, posthouse.ErrDecided)) {
						t.Fatal(err)
					}
				}
				if _, err := app.Resume(ctx, "t"); err != nil || paid != 1 {
					t.Errorf("%s: approved again with the key it is paid %d times, %v", name, paid, err)
				}
			}
		}
	}
}
