package tokens

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/task"
)

// TestTokensNameGroupsAndTasks: a worker's token, also one of an earlier release, takes tasks
// of no group unless it names groups; tokens of other roles name no groups.
func TestTokensNameGroupsAndTasks(t *testing.T) {
	ts, dir := newTokens(t)
	hello := func(group string, tasks ...string) *task.Hello { return &task.Hello{Group: group, Tasks: tasks} }
	secrets := map[string]string{}
	for name, o := range map[string]*CreateOptions{
		"plain": nil, "gpu": {Groups: []string{"gpu"}}, "pay": {Groups: []string{"money"}, Tasks: []string{"pay"}}, "all": {Groups: []string{task.Any}},
	} {
		secret, err := ts.Create(name, Worker, o)
		must.Do(t, err)
		secrets[name] = secret
	}
	may := func(name string, h *task.Hello) bool {
		t.Helper()
		tok, ok, err := ts.Authenticate(secrets[name])
		must.Do(t, err)
		return ok && tok.Pass().Check(h) == nil
	}
	for _, c := range []struct {
		name string
		h    *task.Hello
		want bool
	}{
		{"plain", hello("", "any", "pay"), true}, {"plain", hello("gpu", "any"), false},
		{"gpu", hello("gpu", "any"), true}, {"gpu", hello("money", "pay"), false}, {"gpu", hello("", "x"), true},
		{"pay", hello("money", "pay"), true}, {"pay", hello("money", "pay", "x"), false}, {"pay", hello("", "x"), false},
		{"all", hello("money", "pay"), true},
	} {
		if got := may(c.name, c.h); got != c.want {
			t.Errorf("token %s, %+v: %v", c.name, c.h, got)
		}
	}
	must.Do(t, ts.Allow("plain", []string{"gpu"}, []string{"x"}))
	if !may("plain", hello("gpu", "x")) || may("plain", hello("gpu", "y")) {
		t.Error("what a token may take did not change")
	}
	data, err := os.ReadFile(filepath.Join(dir, File))
	must.Do(t, err)
	var file document
	must.Do(t, json.Unmarshal(data, &file))
	if file.Version != 4 {
		t.Errorf("an older program would take the file of version %d", file.Version)
	}
	_, err = ts.Create("op", Operator, &CreateOptions{Groups: []string{"x"}})
	_, bad := ts.Create("bad", Worker, &CreateOptions{Tasks: []string{"a\nb"}})
	_, noned := ts.Create("op", Operator, nil)
	must.Do(t, noned)
	for what, err := range map[string]error{"an operator's groups": err, "a bad name": bad, "allow an operator": ts.Allow("op", nil, nil)} {
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := ts.Allow("nobody", nil, nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Error(err)
	}
	wrong := strings.Replace(string(data), `"version": 4`, `"version": 2`, 1)
	must.Do(t, os.WriteFile(filepath.Join(dir, File), []byte(wrong), 0o600))
	if _, err := Open(dir, nil); err == nil {
		t.Error("limits are taken from a file whose version has none")
	}
}
