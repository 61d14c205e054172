package authlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A full is a store that takes nothing while it is full.
type full struct {
	posthouse.Store
	is atomic.Bool
}

func (f *full) Append(ctx context.Context, b *posthouse.Batch) error {
	if f.is.Load() {
		return errors.New("no space left on device")
	}
	return f.Store.Append(ctx, b)
}

// A house is a server's record over a store and a directory, which others may share.
type house struct {
	t     *testing.T
	store *full
	l     *ledger.Ledger
	list  *tokens.List
	life  *limit.Lifetime
	log   *authlog.Log
}

func open(t *testing.T, store *full, dir string) *house {
	t.Helper()
	h := &house{t: t, store: store, life: limit.NewLifetime()}
	h.l = must.Get(ledger.Open(store, nil))(t)
	h.list = must.Get(tokens.Open(dir, nil))(t)
	h.log = authlog.New(&authlog.Options{Ledger: h.l, Tokens: h.list, Life: h.life, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	return h
}

func (h *house) close() {
	h.t.Helper()
	must.Do(h.t, h.life.Close(h.t.Context()))
	h.log.Close(h.t.Context())
	must.Do(h.t, h.l.Close())
}

// kept is one record as the log has it.
type kept struct {
	kind authlog.Kind
	by   string
	at   time.Time
	authlog.Act
}

// read returns what is on record, and how many bytes its entries have.
func (h *house) read() (all []kept, entries, bytes int) {
	h.t.Helper()
	for e, err := range h.l.Log(h.t.Context(), authlog.Thread, posthouse.Range{}) {
		if errors.Is(err, posthouse.ErrNotFound) {
			return nil, 0, 0
		}
		must.Do(h.t, err)
		entries++
		bytes += len(e.Header)
		for _, ev := range e.Events {
			k := kept{kind: authlog.Kind(ev.Signal.Name), by: ev.Signal.By, at: ev.At}
			must.Do(h.t, json.Unmarshal(ev.Signal.Value, &k.Act))
			bytes += len(ev.Signal.Value)
			all = append(all, k)
		}
	}
	return all, entries, bytes
}

func (k *kept) count() int { return max(k.Count, 1) }

// TestFloodIsBounded: whoever tries tokens for a day, from one address and from a million, adds no more than
// a megabyte to the log, and every try is counted. A person who logs in on that day has a record.
func TestFloodIsBounded(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, &full{Store: memstore.New()}, dir)
		tries := 0
		for minute := range 24 * 60 {
			for i := range 200 {
				address := "10.0.0.7"
				if i%2 == 1 { // as many networks as there are tries
					address = fmt.Sprintf("2001:db8:%x:%x::%x", minute, i, i)
				}
				h.log.Refused(tokens.Token{}, authlog.Visit{By: authlog.ByHeader, Address: address}, "nobody has this token")
				tries++
			}
			if minute == 600 {
				h.log.LoggedIn(tokens.Token{Name: "alice", Role: tokens.Approver}, authlog.Visit{By: authlog.ByToken, Address: "192.0.2.1"})
			}
			time.Sleep(time.Minute)
		}
		h.close()
		h.l = must.Get(ledger.Open(h.store, nil))(t)
		if report := must.Get(sign.Verify(t.Context(), h.store, nil, nil))(t); len(report.Faults) != 0 {
			t.Errorf("the record is verified with the faults %+v", report.Faults)
		}
		all, entries, bytes := h.read()
		counted, alice, most := 0, 0, 0
		for _, k := range all {
			switch k.kind {
			case authlog.Refused:
				counted += k.count()
				for _, o := range k.Of {
					most = max(most, o.Count)
				}
				if len(k.Of) > 20 {
					t.Errorf("a sum lists %d addresses", len(k.Of))
				}
			case authlog.Login:
				alice += k.count()
			}
		}
		if counted != tries || alice != 1 || most < 400 || bytes > 1<<20 || entries > 24*(20+12)+1 {
			t.Errorf("of %d tries %d are counted, %d logins, %d of the address that tries most; in %d entries and %d bytes", tries, counted, alice, most, entries, bytes)
		}
		t.Logf("%d tries: %d entries, %d bytes", tries, entries, bytes)
		must.Do(t, h.l.Close())
	})
}

// TestOneAddressLeavesRoom: the tries of one network do not keep those of another out of the log.
func TestOneAddressLeavesRoom(t *testing.T) {
	h := open(t, &full{Store: memstore.New()}, t.TempDir())
	for i := range 1000 {
		h.log.Refused(tokens.Token{}, authlog.Visit{By: authlog.ByHeader, Address: fmt.Sprintf("2001:db8::%x", i)}, "x")
	}
	h.log.Refused(tokens.Token{Name: "guest"}, authlog.Visit{By: authlog.ByToken, Address: "192.0.2.9"}, strings.Repeat("x", 5000))
	for range 100 { // a script that logs in again and again
		h.log.LoggedIn(tokens.Token{Name: "bot"}, authlog.Visit{By: authlog.ByToken})
	}
	h.close()
	h.l = must.Get(ledger.Open(h.store, nil))(t)
	all, _, _ := h.read()
	own, summed, other, bot := 0, 0, 0, 0
	for _, k := range all {
		switch {
		case k.kind == authlog.Login && k.Count == 0:
			bot++
		case k.kind == authlog.Login:
			bot += 1000 * k.Count
		case k.Count > 0:
			summed += k.Count
		case k.Address == "192.0.2.9":
			other++
			if k.Person != "guest" || len(k.Why) > 300 || k.by != "" {
				t.Errorf("the refusal of an expired token is %+v", k)
			}
		default:
			own++
		}
	}
	if own != 3 || summed != 997 || other != 1 || bot != 20+80*1000 {
		t.Errorf("%d of the network have a record, %d are summed, %d of another have one; logins %d", own, summed, other, bot)
	}
	must.Do(t, h.l.Close())
}

// TestFullStore: a store that takes nothing keeps no person out and holds no memory; what happened is on
// record once it takes entries again.
func TestFullStore(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, &full{Store: memstore.New()}, dir)
		must.Get(h.list.Create("eve", tokens.Viewer, nil))(t)
		h.store.is.Store(true)
		must.Do(t, h.log.Revoke(t.Context(), "operator", "", "eve"))
		if list := must.Get(h.list.All())(t); len(list) != 0 {
			t.Errorf("a full store keeps the tokens %+v", list)
		}
		begun := time.Now()
		h.log.LoggedIn(tokens.Token{Name: "alice", Role: tokens.Operator}, authlog.Visit{By: authlog.ByToken})
		if d := time.Since(begun); d != 2*time.Second {
			t.Errorf("the login waited %v", d)
		}
		for i := range 5000 {
			h.log.Refused(tokens.Token{}, authlog.Visit{Address: fmt.Sprintf("10.1.%d.%d", i/250, i%250)}, "x")
		}
		time.Sleep(time.Hour)
		if all, _, _ := h.read(); len(all) != 0 {
			t.Errorf("the full store has %+v", all)
		}
		h.store.is.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		all, _, _ := h.read()
		n := 0
		for _, k := range all {
			if k.kind == authlog.Refused {
				n += k.count()
			}
		}
		if len(all) == 0 || all[0].kind != authlog.TokenRevoked || all[0].Person != "eve" || all[1].kind != authlog.Login || all[1].by != "alice" || n != 5000 {
			t.Errorf("%d refusals are counted, and first is %+v", n, all)
		}
		h.close()
	})
}

// TestLongOutage: while the store takes nothing, what waits for it stays bounded, and each refusal is counted
// once it does.
func TestLongOutage(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, &full{Store: memstore.New()}, dir)
		h.store.is.Store(true)
		const ticks = 500
		for range ticks {
			for i := range 5 {
				h.log.Refused(tokens.Token{}, authlog.Visit{Address: fmt.Sprintf("10.1.0.%d", i)}, "x")
			}
			time.Sleep(6 * time.Minute)
		}
		h.store.is.Store(false)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		all, _, _ := h.read()
		n := 0
		for _, k := range all {
			n += k.count()
		}
		if n != 5*ticks || len(all) > 560 {
			t.Errorf("%d of %d refusals are counted, in %d records", n, 5*ticks, len(all))
		}
		h.close()
	})
}

// TestTokens: what is made and revoked by the server, and beside it, is on record once, over restarts.
func TestTokens(t *testing.T) {
	store, dir := &full{Store: memstore.New()}, t.TempDir()
	beside := must.Get(tokens.Open(dir, nil))(t)
	first := must.Get(beside.Create("operator", tokens.Operator, nil))(t)
	h := open(t, store, dir)
	h.log.Look() // what is there is known
	h.life.Wait()
	worker := must.Get(h.log.Create(t.Context(), "operator", "192.0.2.1", "w", tokens.Worker, &tokens.CreateOptions{Groups: []string{"gpu"}}))(t)
	must.Get(beside.Create("eve", tokens.Operator, nil))(t)
	if _, _, err := h.list.Authenticate("x"); err != nil { // the server reads the file
		t.Error(err)
	}
	for range 3 {
		h.log.Look()
		h.life.Wait()
	}
	h.close()
	must.Do(t, beside.Revoke("w", nil)) // while no server runs
	for range 2 {
		h = open(t, store, dir)
		h.log.Look()
		h.close()
	}
	h = open(t, store, dir)
	must.Do(t, h.log.Revoke(t.Context(), "operator", "192.0.2.1", "eve"))
	if err := h.log.Revoke(t.Context(), "operator", "", "nobody"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("revoking what is not there: %v", err)
	}
	store.is.Store(true)
	if _, err := h.log.Create(t.Context(), "operator", "", "late", tokens.Viewer, nil); err == nil {
		t.Error("a token that cannot be put on record was made")
	}
	store.is.Store(false)
	if list := must.Get(h.list.All())(t); len(list) != 1 || list[0].Name != "operator" {
		t.Errorf("the tokens are %+v", list)
	}
	all, _, _ := h.read()
	var said []string
	for _, k := range all {
		said = append(said, fmt.Sprintf("%s %s by %q beside %v groups %v", k.kind, k.Person, k.by, k.Beside, k.Groups))
	}
	want := []string{
		`$token-made w by "operator" beside false groups [gpu]`, `$token-made eve by "" beside true groups []`,
		`$token-revoked w by "" beside true groups []`, `$token-revoked eve by "operator" beside false groups []`,
	}
	if strings.Join(said, "\n") != strings.Join(want, "\n") {
		t.Errorf("on record is\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	if report := must.Get(sign.Verify(t.Context(), h.store, nil, nil))(t); len(report.Faults) != 0 || report.Threads != 1 {
		t.Errorf("the record is verified with the faults %+v", report.Faults)
	}
	raw := must.Get(json.Marshal(all))(t)
	if strings.Contains(string(raw), worker) || strings.Contains(string(raw), first) || strings.Contains(string(raw), "ph_") {
		t.Errorf("a secret is on record: %s", raw)
	}
	h.close()
}

// TestServersTogether: several servers over one store and directory record each change once.
func TestServersTogether(t *testing.T) {
	store, dir := &full{Store: memstore.New()}, t.TempDir()
	beside := must.Get(tokens.Open(dir, nil))(t)
	must.Get(beside.Create("operator", tokens.Operator, nil))(t)
	var houses []*house
	for range 3 {
		h := open(t, store, dir)
		h.log.Look()
		h.life.Wait()
		houses = append(houses, h)
	}
	var wg sync.WaitGroup
	for i, h := range houses {
		wg.Go(func() {
			for j := range 5 {
				_, err := h.log.Create(t.Context(), "operator", "", fmt.Sprintf("t%d-%d", i, j), tokens.Viewer, nil)
				if err != nil && !errors.Is(err, posthouse.ErrLocked) {
					t.Errorf("server %d: %v", i, err)
				}
				h.log.Look()
				h.log.Refused(tokens.Token{}, authlog.Visit{Address: "192.0.2.1"}, "x")
			}
		})
	}
	wg.Wait()
	made := len(must.Get(beside.All())(t)) - 1
	for _, h := range houses[1:] {
		h.close()
	}
	must.Do(t, houses[0].life.Close(t.Context()))
	houses[0].log.Close(t.Context())
	all, _, _ := houses[0].read()
	tokensMade, refused := 0, 0
	for _, k := range all {
		switch k.kind {
		case authlog.TokenMade:
			tokensMade++
		case authlog.Refused:
			refused += k.count()
		}
	}
	if tokensMade != made || made == 0 || refused != 15 {
		t.Errorf("of %d tokens %d are on record, of 15 refusals %d", made, tokensMade, refused)
	}
	must.Do(t, houses[0].l.Close())
}

// TestAddress has no port, and nothing of what is no address.
func TestAddress(t *testing.T) {
	for remote, want := range map[string]string{"192.0.2.1:80": "192.0.2.1", "[fe80::1%eth0]:80": "fe80::1%eth0", "@": "", "": ""} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		if got := authlog.Address(r); got != want {
			t.Errorf("%q is %q, want %q", remote, got, want)
		}
	}
}

// TestNoLog: without a record nothing is kept, and nothing fails.
func TestNoLog(t *testing.T) {
	var l *authlog.Log
	l.Look()
	l.Refused(tokens.Token{}, authlog.Visit{}, "x")
	l.LoggedIn(tokens.Token{}, authlog.Visit{})
	l.LoggedOut(tokens.Token{}, authlog.Visit{})
	l.Close(t.Context())
}
