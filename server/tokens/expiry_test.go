package tokens

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// A dial is a clock that tests turn.
type dial struct{ t atomic.Int64 }

func newDial() *dial {
	d := &dial{}
	d.t.Store(time.Date(2030, 1, 1, 12, 0, 30, 0, time.UTC).Unix())
	return d
}

func (d *dial) now() time.Time        { return time.Unix(d.t.Load(), 0).UTC() }
func (d *dial) turn(by time.Duration) { d.t.Add(int64(by / time.Second)) }
func (d *dial) options() *Options     { return &Options{Now: d.now} }

func TestTokenExpires(t *testing.T) {
	clock, dir := newDial(), t.TempDir()
	ts, err := Open(dir, clock.options())
	must.Do(t, err)
	until := clock.now().Add(time.Hour)
	for _, past := range []time.Time{clock.now(), clock.now().Add(-time.Second)} {
		_, err = ts.Create("alice", Approver, &CreateOptions{ExpiresAt: past})
		wantCode(t, err, posthouse.CodeInvalid)
	}
	secret, err := ts.Create("alice", Approver, &CreateOptions{ExpiresAt: until.Add(999 * time.Millisecond)})
	must.Do(t, err)
	tok, ok, err := ts.Authenticate(secret)
	if must.Do(t, err); !ok || !tok.ExpiresAt.Equal(until) {
		t.Fatalf("authenticate says %+v, %v", tok, ok)
	}
	clock.turn(time.Hour - time.Second)
	if ok, err := ts.Current(tok); !ok || err != nil {
		t.Errorf("a second before its time it is %v, %v", ok, err)
	}
	clock.turn(time.Second)
	if _, ok, err := ts.Authenticate(secret); ok || err != nil {
		t.Errorf("after its time it is %v, %v", ok, err)
	}
	if ok, err := ts.Current(tok); ok || err != nil {
		t.Errorf("after its time a session of it is %v, %v", ok, err)
	}
	if _, ok, err := ts.Authenticate(secret); ok || err != nil {
		t.Errorf("after its time it is valid: %v, %v", ok, err)
	}
	again, err := ts.Create("alice", Viewer, nil) // in the place of the one that expired
	must.Do(t, err)
	list, err := ts.All()
	if must.Do(t, err); len(list) != 1 || list[0].Role != Viewer || !list[0].ExpiresAt.IsZero() {
		t.Errorf("the list is %+v", list)
	}
	if _, ok, _ := ts.Authenticate(secret); ok {
		t.Error("the secret that expired is good again")
	}
	if _, ok, _ := ts.Authenticate(again); !ok {
		t.Error("the new secret is not good")
	}
}

// TestTokensFileVersion: a program that knows nothing of makers must refuse a file with them, and
// accept one without.
func TestTokensFileVersion(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, File)
	old := `{"version":1,"tokens":[{"name":"op","role":"operator","hash":"` + strings.Repeat("ab", 32) + `","createdAt":"2026-01-01T00:00:00Z"}]}`
	must.Do(t, os.WriteFile(path, []byte(old), 0o600))
	ts, err := Open(dir, nil)
	must.Do(t, err)
	version := func() (v struct{ Version int }) {
		t.Helper()
		data, err := os.ReadFile(path)
		must.Do(t, err)
		must.Do(t, json.Unmarshal(data, &v))
		return v
	}
	_, err = ts.Create("bob", Viewer, nil)
	if err != nil || version().Version != 4 {
		t.Errorf("with a token that says where it was made the version is %d: %v", version().Version, err)
	}
	if _, err := Open(dir, nil); err != nil {
		t.Error(err)
	}
	must.Do(t, ts.Revoke("bob", nil))
	if v := version().Version; v != 1 {
		t.Errorf("without one again it is %d", v)
	}
	later := `{"version":5,"tokens":[]}`
	must.Do(t, os.WriteFile(path, []byte(later), 0o600))
	if _, err := Open(dir, nil); !errors.Is(err, posthouse.ErrNewer) || !strings.Contains(err.Error(), "version 5") || !strings.Contains(err.Error(), "up to 4") {
		t.Errorf("a later version: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != later {
		t.Errorf("it was changed to %s: %v", data, err)
	}
	early := strings.Replace(old, `"createdAt"`, `"maker":{"name":"mallory"},"createdAt"`, 1)
	must.Do(t, os.WriteFile(path, []byte(early), 0o600))
	if _, err := Open(dir, nil); err == nil {
		t.Error("a maker in a file of version 1 is read")
	}
}

func TestLastOperatorStays(t *testing.T) {
	clock, dir := newDial(), t.TempDir()
	ts, err := Open(dir, clock.options())
	must.Do(t, err)
	_, err = ts.Create("op", Operator, nil)
	must.Do(t, err)
	_, err = ts.Create("vera", Approver, nil)
	must.Do(t, err)
	_, err = ts.Create("guest", Operator, &CreateOptions{ExpiresAt: clock.now().Add(time.Hour)})
	must.Do(t, err)
	other, err := Open(dir, clock.options()) // takes one away beside this
	must.Do(t, err)
	must.Do(t, other.Revoke("op", nil)) // guest is left
	err = ts.Revoke("guest", nil)
	wantCode(t, err, posthouse.CodeConflict)
	if e := new(posthouse.Error); !errors.As(err, &e) || !strings.Contains(e.Hint, "posthouse token create") || !strings.Contains(e.Hint, "--yes") {
		t.Errorf("the hint is %q", e.Hint)
	}
	list, err := ts.All()
	if must.Do(t, err); len(list) != 2 {
		t.Errorf("the tokens are %+v", list)
	}
	_, err = ts.Create("op", Operator, nil)
	must.Do(t, err)
	clock.turn(time.Hour)
	wantCode(t, ts.Revoke("op", nil), posthouse.CodeConflict)   // guest has expired
	must.Do(t, ts.Revoke("guest", nil))                         // what has expired is no operator
	must.Do(t, ts.Revoke("vera", &RevokeOptions{DryRun: true})) // it is there, and stays
	must.Do(t, ts.Revoke("vera", nil))
	wantCode(t, ts.Revoke("vera", &RevokeOptions{DryRun: true}), posthouse.CodeNotFound)
	must.Do(t, ts.Revoke("op", &RevokeOptions{LastOperator: true}))
	if _, err := ts.Create("op", Operator, nil); err != nil {
		t.Errorf("with the directory in hand there is a way back: %v", err)
	}
}
