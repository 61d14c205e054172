package accounts

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

const issuer, other = "https://accounts.example", "https://other.example"

func overStores(t *testing.T, test func(t *testing.T, l *ledger.Ledger)) {
	for name, open := range map[string]func() (posthouse.Store, error){
		"memory": func() (posthouse.Store, error) { return memstore.New(), nil },
		"sqlite": func() (posthouse.Store, error) {
			return sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := must.Get(open())(t)
			l := must.Get(ledger.Open(store, nil))(t)
			test(t, l)
			must.Do(t, l.Close())
			must.Do(t, store.Close())
		})
	}
}

// TestOneAccountHasOneName: an account keeps its first name, however its provider spells it or whatever it
// becomes, and no other account gets that, in any spelling.
func TestOneAccountHasOneName(t *testing.T) {
	overStores(t, func(t *testing.T, l *ledger.Ledger) {
		b := New(l)
		enter := func(b *Book, p signin.Person, want string) {
			t.Helper()
			name, err := b.Enter(context.Background(), &p)
			switch {
			case want == "" && !errors.Is(err, posthouse.ErrForbidden) && !errors.Is(err, posthouse.ErrInvalid):
				t.Errorf("%+v is %q, %v; want a refusal", p, name, err)
			case want != "" && (err != nil || name != want):
				t.Errorf("%+v is %q, %v; want %q", p, name, err, want)
			}
		}
		ann := func(name string) signin.Person { return signin.Person{Issuer: issuer, Subject: "7", Name: name} }
		bob := func(name string) signin.Person { return signin.Person{Issuer: issuer, Subject: "8", Name: name} }
		enter(b, ann("ann@example.com"), "ann@example.com")
		beside := New(l) // another server
		for _, name := range []string{"ann@example.com", "ANN@EXAMPLE.COM", "ａｎｎ@example.com", "ann.smith@example.com", "аnn@example.com"} {
			enter(b, ann(name), "ann@example.com")
			enter(beside, ann(name), "ann@example.com")
		}
		for _, name := range []string{"ann@example.com", "Ann@Example.com", "ａｎｎ@example.com"} {
			enter(b, bob(name), "")
			enter(beside, bob(name), "")
		}
		enter(beside, bob("bob@example.com"), "bob@example.com")
		enter(b, bob("bob@example.com"), "bob@example.com")
		enter(b, bob("Ann@example.com"), "") // also once it has a name
		for _, p := range []signin.Person{
			{Name: "x@example.com", Subject: "9"}, {Name: "x@example.com", Issuer: issuer}, {Issuer: issuer, Subject: "9"},
			{Issuer: issuer, Subject: "9", Name: "endpoint:ops"}, {Issuer: issuer, Subject: "9", Name: "Slack:U1"}, {Issuer: issuer, Subject: "9", Name: "$x"},
			{Issuer: issuer, Subject: "9", Name: "PostHouse"}, {Issuer: issuer, Subject: "9", Name: "Ｐolicy:judge"},
		} {
			enter(b, p, "")
		}
		_, err := b.Enter(t.Context(), &signin.Person{Issuer: issuer, Subject: "9", Name: "ANN@example.com"})
		if err == nil || !strings.Contains(err.Error(), "posthouse people rebind ANN@example.com") {
			t.Errorf("the refusal does not name the command: %v", err)
		}
	})
}

// TestANameIsFreed: by an operator, or because the issuer was replaced.
func TestANameIsFreed(t *testing.T) {
	overStores(t, func(t *testing.T, l *ledger.Ledger) {
		ctx := t.Context()
		b, beside := New(l), New(l)
		p := signin.Person{Issuer: issuer, Subject: "7", Name: "ann@example.com"}
		must.Get(b.Enter(ctx, &p))(t)
		must.Fail(t, b.Unbind(ctx, "bob@example.com", "op"), posthouse.ErrNotFound)
		must.Do(t, beside.Unbind(ctx, "ANN@example.com", "op"))
		next := p
		next.Subject = "8"
		if name, err := b.Enter(ctx, &next); err != nil || name != "ann@example.com" {
			t.Errorf("the next account is %q, %v", name, err)
		}
		if _, err := beside.Enter(ctx, &p); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("the account of before comes in: %v", err)
		}
		moved := signin.Person{Issuer: other, Subject: "1", Name: "Ann@example.com", Was: issuer + ".not"}
		if _, err := b.Enter(ctx, &moved); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("an account of an issuer that replaces another one comes in: %v", err)
		}
		moved.Was = issuer
		if name, err := b.Enter(ctx, &moved); err != nil || name != "Ann@example.com" {
			t.Errorf("an account of the issuer that replaces it is %q, %v", name, err)
		}
		if _, err := beside.Enter(ctx, &next); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("the account of the issuer of before comes in: %v", err)
		}
	})
}
