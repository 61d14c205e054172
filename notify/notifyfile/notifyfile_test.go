package notifyfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/notifyfile"
	"github.com/posthouse/posthouse/notify/webhook"
)

const whole = `
url: https://posthouse.example.com
webhooks:
  - name: ops
    url: https://ops.example.com/hook
    secretFile: ops.secret
    events: [gate.opened, gate.decided]
    when:
      gates: [refund*]
      programs: [refunds]
      assignees: [alice]
      labels: {team: eu}
      content:
        - {at: /amount, above: "1000"}
        - {at: /express, is: [true]}
      within: 24h
    retry: {attempts: 5, initialDelay: 1s, maxDelay: 10m, factor: 3, jitter: 0.5}
    timeout: 5s
    allow: [10.0.0.0/8]
    omitContent: true
  - name: local
    url: http://127.0.0.1:9000/
    insecure: true
    secretFile: ops.secret
    allow: [127.0.0.1]
`

func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "ops.secret"), []byte(webhook.NewSecret()), 0o600))
	path := filepath.Join(dir, "notify.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAWholeFile(t *testing.T) {
	c := must.Get(notifyfile.Read(write(t, whole)))(t)
	all := must.Get(c.Endpoints(nil))(t)
	if len(all) != 2 || c.URL != "https://posthouse.example.com" {
		t.Fatalf("%d endpoints, url %q", len(all), c.URL)
	}
	e := all[0]
	r := e.Rule
	switch {
	case e.Name != "ops", e.Channel.Address() != "https://ops.example.com/… (6fc2d051)", !e.OmitContent, e.Timeout != 5*time.Second, len(e.Events) != 2,
		r.Gates[0] != "refund*", r.Programs[0] != "refunds", r.Assignees[0] != "alice", r.Labels["team"] != "eu", r.Content[0].Above != "1000", r.Content[1].Is[0] != "true",
		r.Within != 24*time.Hour, e.Retry != (posthouse.RetryPolicy{MaxAttempts: 5, InitialDelay: time.Second, MaxDelay: 10 * time.Minute, Factor: 3, Jitter: 0.5}):
		t.Errorf("%+v", e)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	for text, want := range map[string]string{
		"webhook: []":                      "did you mean webhooks?",
		"webhooks: [{name: ops, urll: x}]": "webhooks[0].urll is no setting (notify.yaml, line 1) (did you mean url?)",
		"webhooks: [{name: ops, url: https://example.com, secretFile: missing}]":                                          "webhooks[0].secretFile",
		"webhooks: [{name: ops, url: https://example.com, secretFile: ops.secret, when: }]":                               "webhooks[0].when is empty",
		"webhooks: [{name: ops, url: https://example.com, secretFile: ops.secret, when: {assignees: [~]}}]":               "webhooks[0].when.assignees[0] is empty",
		"webhooks: [{name: ops, url: https://example.com, secretFile: ops.secret, when: {content: [{at: /x, is: [~]}]}}]": "webhooks[0].when.content[0].is[0] is empty",
		"webhooks: [{name: o p, url: https://example.com, secretFile: ops.secret}]":                                       "webhooks[0].name",
		"webhooks: [{name: ops, url: http://example.com, secretFile: ops.secret}]":                                        "webhooks[0].url",
		"webhooks: [{name: ops, url: https://example.com, secretFile: ops.secret, events: [gate.open]}]":                  "gate.opened",
		"webhooks: [{name: ops, url: https://example.com, secretFile: ops.secret, when: {content: [{at: x, is: [1]}]}}]":  "webhooks[0].when.content[0].at",
		"webhooks: [{name: ops, url: https://example.com, secretFile: ops.secret, when: {content: [{at: /x}]}}]":          "asks for nothing",
	} {
		c, err := notifyfile.Read(write(t, text))
		if err == nil {
			_, err = c.Endpoints(nil)
		}
		must.Fail(t, err, posthouse.ErrInvalid)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
	_, err := notifyfile.Read(filepath.Join(t.TempDir(), "none.yaml"))
	must.Fail(t, err, posthouse.ErrNotFound)
	_, err = notifyfile.Read(t.TempDir())
	must.Fail(t, err, posthouse.ErrInvalid)
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := notifyfile.Parse([]byte(text), "f")
		if err != nil {
			if !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("%q is refused with %v", text, err)
			}
			return
		}
		for _, w := range c.Webhooks {
			e := notify.Endpoint{Name: w.Name, Rule: w.When, Events: w.Events}
			if err := e.Validate(); err != nil && !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("an endpoint of %q is refused with %v", text, err)
			}
		}
	})
}
