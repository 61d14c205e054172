package tokens

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/filelock"
	"github.com/posthouse/posthouse/internal/proof/must"
)

func newTokens(t *testing.T) (*List, string) {
	t.Helper()
	dir := t.TempDir()
	ts, err := Open(dir, &Options{Now: func() time.Time { return time.Unix(1700000000, 0) }})
	must.Do(t, err)
	return ts, dir
}

func TestTokenIsKeptAsAHashOnly(t *testing.T) {
	ts, dir := newTokens(t)
	secret, err := ts.Create("alice@example.org", Approver, nil)
	must.Do(t, err)
	if !strings.HasPrefix(secret, "ph_") || len(secret) != 3+43 {
		t.Errorf("the secret %q is not ph_ and 256 bits", secret)
	}
	path := filepath.Join(dir, File)
	data, err := os.ReadFile(path)
	must.Do(t, err)
	if strings.Contains(string(data), secret) || strings.Contains(string(data), secret[3:]) {
		t.Error("the file holds the secret")
	}
	info, err := os.Stat(path)
	must.Do(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
	tok, ok, err := ts.Authenticate(secret)
	must.Do(t, err)
	if !ok || tok.Name != "alice@example.org" || tok.Role != Approver || !tok.CreatedAt.Equal(time.Unix(1700000000, 0)) {
		t.Errorf("authenticate says %+v, %v", tok, ok)
	}
	for _, wrong := range []string{"", "ph_", secret[:len(secret)-1], secret + "A", secret[3:], strings.ToLower(secret)} {
		if _, ok, err := ts.Authenticate(wrong); ok || err != nil {
			t.Errorf("authenticate(%q) is %v, %v", wrong, ok, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	must.Do(t, err)
	hidden, err := filepath.Glob(filepath.Join(dir, ".*"))
	must.Do(t, err)
	if len(left)+len(hidden) != 2 { // the tokens and their lock
		t.Errorf("files are left: %v %v", left, hidden)
	}
}

func TestTokensAreChangedBesideARunningServer(t *testing.T) {
	server, dir := newTokens(t)
	if _, ok, _ := server.Authenticate("ph_x"); ok {
		t.Fatal("nobody is known yet")
	}
	cli, err := Open(dir, nil)
	must.Do(t, err)
	for i := range 20 { // within one tick of many file systems' clocks
		name := fmt.Sprintf("t%d", i)
		secret, err := cli.Create(name, Viewer, nil)
		must.Do(t, err)
		tok, ok, err := server.Authenticate(secret)
		must.Do(t, err)
		if !ok || tok.Name != name {
			t.Fatalf("token %d, made beside the server, does not work there", i)
		}
		must.Do(t, cli.Revoke(name, nil))
		if _, ok, _ := server.Authenticate(secret); ok {
			t.Fatalf("token %d, revoked beside the server, still works there", i)
		}
		if ok, err := server.Current(tok); ok || err != nil {
			t.Fatalf("token %d is current: %v, %v", i, ok, err)
		}
	}
}

func TestTokensAreMadeAtOnceByMany(t *testing.T) {
	_, dir := newTokens(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := map[string]bool{}
	for i := range 16 {
		wg.Go(func() {
			ts, err := Open(dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			name := fmt.Sprintf("t%d", i)
			switch _, err := ts.Create(name, Viewer, nil); {
			case err == nil:
				mu.Lock()
				made[name] = true
				mu.Unlock()
			case !errors.Is(err, posthouse.ErrLocked):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ts, err := Open(dir, nil)
	must.Do(t, err)
	list, err := ts.All()
	must.Do(t, err)
	if len(list) != len(made) || len(made) == 0 {
		t.Errorf("%d were made, %d are there", len(made), len(list))
	}
	for _, x := range list {
		if !made[x.Name] {
			t.Errorf("%s is there and was not made", x.Name)
		}
	}
}

func TestTokenErrors(t *testing.T) {
	ts, dir := newTokens(t)
	_, err := ts.Create("alice", Viewer, nil)
	must.Do(t, err)
	_, err = ts.Create("alice", Operator, nil)
	wantCode(t, err, posthouse.CodeExists)
	for _, name := range []string{"", "a b", "a\nb", "ä", strings.Repeat("a", 201), `a"b`} {
		_, err = ts.Create(name, Viewer, nil)
		wantCode(t, err, posthouse.CodeInvalid)
	}
	_, err = ts.Create("bob", "admin", nil)
	wantCode(t, err, posthouse.CodeInvalid)
	wantCode(t, ts.Revoke("nobody", nil), posthouse.CodeNotFound)
	wantCode(t, func() error { _, err := Open(filepath.Join(dir, File), nil); return err }(), posthouse.CodeUnknown)
}

// TestTokensLock: somebody who changes the tokens keeps others out; somebody
// who did, and was killed, does not.
func TestTokensLock(t *testing.T) {
	ts, dir := newTokens(t)
	name := filepath.Join(dir, File+".lock")
	must.Do(t, os.WriteFile(name, []byte("left behind"), 0o600))
	_, err := ts.Create("alice", Viewer, nil)
	must.Do(t, err)
	lock, err := filelock.Take(name)
	must.Do(t, err)
	_, err = ts.Create("bob", Viewer, nil)
	wantCode(t, err, posthouse.CodeLocked)
	must.Do(t, lock.Close())
	_, err = ts.Create("bob", Viewer, nil)
	must.Do(t, err)
	list, err := ts.All()
	if must.Do(t, err); len(list) != 2 {
		t.Errorf("the tokens are %v", list)
	}
}

func wantCode(t *testing.T, err error, code posthouse.Code) {
	t.Helper()
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("the error is %v, want code %s", err, code)
	}
}

func TestDamagedTokensFileRefusesAllTokens(t *testing.T) {
	good := `{"version":1,"tokens":[{"name":"a","role":"viewer","hash":"` + strings.Repeat("ab", 32) + `","createdAt":"2026-01-01T00:00:00Z"}]}`
	if _, err := parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"empty":         "",
		"cut":           good[:len(good)-3],
		"version":       strings.Replace(good, `"version":1`, `"version":5`, 1),
		"no version":    strings.Replace(good, `"version":1,`, ``, 1),
		"role":          strings.Replace(good, "viewer", "root", 1),
		"two roles":     strings.Replace(good, `"role":"viewer"`, `"role":"viewer","role":"operator"`, 1),
		"role in caps":  strings.Replace(good, `"role":"viewer"`, `"role":"viewer","ROLE":"operator"`, 1),
		"short hash":    strings.Replace(good, "abab", "ab", 1),
		"no hash":       strings.Replace(good, strings.Repeat("ab", 32), "", 1),
		"zero hash":     strings.Replace(good, strings.Repeat("ab", 32), strings.Repeat("00", 32), 1),
		"name":          strings.Replace(good, `"name":"a"`, `"name":"a b"`, 1),
		"name twice":    strings.Replace(good, `]}`, `,`+good[strings.Index(good, `{"name`):len(good)-2]+`]}`, 1),
		"expires":       strings.Replace(good, `"createdAt"`, `"expiresAt":"2030-01-01T00:00:00Z","createdAt"`, 1),
		"field":         strings.Replace(good, `"name"`, `"x":1,"name"`, 1),
		"not an object": `[]`,
		"big":           strings.Repeat(" ", maxFile) + good,
	} {
		t.Run(name, func(t *testing.T) {
			ts, dir := newTokens(t)
			secret, err := ts.Create("alice", Operator, nil)
			must.Do(t, err)
			path := filepath.Join(dir, File)
			must.Do(t, os.WriteFile(path, []byte(bad), 0o600))
			if _, ok, err := ts.Authenticate(secret); ok || err == nil {
				t.Errorf("authenticate says %v, %v", ok, err)
			}
			if _, err := Open(dir, nil); err == nil {
				t.Error("it opens")
			}
			if _, _, err := ts.First(); err == nil {
				t.Error("the damaged file is replaced")
			}
			if _, err := ts.Create("bob", Viewer, nil); err == nil {
				t.Error("the damaged file is replaced")
			}
		})
	}
}

func TestTokensFileOfOthersIsRefused(t *testing.T) {
	ts, dir := newTokens(t)
	secret, err := ts.Create("alice", Operator, nil)
	must.Do(t, err)
	path := filepath.Join(dir, File)
	must.Do(t, os.Chmod(path, 0o644))
	_, err = Open(dir, nil)
	wantCode(t, err, posthouse.CodeForbidden)
	must.Do(t, os.Chmod(path, 0o600))
	if _, ok, err := ts.Authenticate(secret); !ok || err != nil {
		t.Errorf("mended, it says %v, %v", ok, err)
	}
}

func TestFirstToken(t *testing.T) {
	ts, dir := newTokens(t)
	path, created, err := ts.First()
	must.Do(t, err)
	if !created || path != filepath.Join(dir, "token") {
		t.Fatalf("First says %q, %v", path, created)
	}
	info, err := os.Stat(path)
	must.Do(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
	data, err := os.ReadFile(path)
	must.Do(t, err)
	tok, ok, err := ts.Authenticate(strings.TrimSpace(string(data)))
	must.Do(t, err)
	if !ok || tok.Role != Operator {
		t.Errorf("the first token is %+v, %v", tok, ok)
	}
	if _, created, err := ts.First(); created || err != nil {
		t.Errorf("the second time it says %v, %v", created, err)
	}
	// A crash after the secret and before the list: the next start makes another.
	must.Do(t, os.Remove(filepath.Join(dir, File)))
	if _, created, err := ts.First(); !created || err != nil {
		t.Errorf("after a crash it says %v, %v", created, err)
	}
	again, err := os.ReadFile(path)
	must.Do(t, err)
	if string(again) == string(data) {
		t.Error("the secret nobody accepts is still in the file")
	}
}
