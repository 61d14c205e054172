package notifyfile_test

import (
	"context"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/notifyfile"
)

// A pager is a kind of channel of a test.
type pager struct {
	KeyFile string  `yaml:"keyFile"`
	List    []pages `yaml:"endpoints"`
}

type pages struct {
	notifyfile.Endpoint `yaml:",inline"`
	Number              string `yaml:"number"`
}

func (p *pager) Endpoints(e *notifyfile.Env) (all []notify.Endpoint, err error) {
	if p.KeyFile == "" && len(p.List) > 0 {
		return nil, posthouse.Invalid("keyFile", "is missing")
	}
	for i := range p.List {
		all = append(all, *p.List[i].With(pageTo(e.Path(p.KeyFile) + " " + p.List[i].Number)))
	}
	return all, nil
}

type pageTo string

func (pageTo) Deliver(context.Context, *notify.Message) error { return nil }
func (pageTo) Kind() string                                   { return "pager" }
func (p pageTo) Address() string                              { return string(p) }

func TestSectionsOfLinkedKinds(t *testing.T) {
	kind := notifyfile.Kind{Name: "pager", Settings: func() notifyfile.Settings { return new(pager) }}
	c := must.Get(notifyfile.Parse([]byte("url: https://posthouse.example.com\npager:\n  keyFile: pager.key\n  endpoints:\n    - {name: night, number: \"7\", when: {gates: [refund]}}\n"), "f", kind))(t)
	c.Dir = "/etc/posthouse"
	all := must.Get(c.Endpoints(nil))(t)
	if len(all) != 1 || all[0].Name != "night" || all[0].Rule.Gates[0] != "refund" || all[0].Channel.Address() != "/etc/posthouse/pager.key 7" {
		t.Errorf("the section has %+v", all)
	}
	if all := must.Get(must.Get(notifyfile.Parse(nil, "f", kind))(t).Endpoints(nil))(t); len(all) != 0 {
		t.Errorf("a file without the section has %+v", all)
	}
	for text, want := range map[string]string{
		"pager: {keyfile: x}":                         "pager.keyfile is no setting (f, line 1) (did you mean keyFile?)",
		"pager: {endpoints: [{name: a}]}":             "pager.keyFile is missing",
		"pagr: {}":                                    "did you mean pager?",
		"pager: {endpoints: [{name: a, evnts: [x]}]}": "did you mean events?",
		"slack: {}":                                   "slack is of a kind that this binary is built without (f, line 1) (the posthouse of a release and of its image has it; a binary of your own links module github.com/posthouse/posthouse/slack",
		"url: x\nmail:\n  from: y":                    "mail is of a kind that this binary is built without (f, line 2)",
		"pager: [x]":                                  "pager has no keys below it",
		"pager: {}\npager: {}":                        "pager is there twice",
		"[pager]":                                     "the document has no keys",
	} {
		c, err := notifyfile.Parse([]byte(text), "f", kind)
		if err == nil {
			_, err = c.Endpoints(nil)
		}
		must.Fail(t, err, posthouse.ErrInvalid)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}
