package strictyaml_test

import (
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/strictyaml"
)

type settings struct {
	Name   string            `yaml:"name"`
	Count  int               `yaml:"count"`
	Share  float64           `yaml:"share"`
	On     bool              `yaml:"on"`
	Every  time.Duration     `yaml:"every"`
	List   []string          `yaml:"list"`
	Labels map[string]string `yaml:"labels"`
	Inner  struct {
		Deep []entry `yaml:"deep"`
	} `yaml:"inner"`
	Ignored string `yaml:"-"`
}

type entry struct {
	Secret string `yaml:"secretFile"`
}

func TestDecode(t *testing.T) {
	var s settings
	must.Do(t, strictyaml.Decode([]byte("name: a\ncount: 3\nshare: 1\non: true\nevery: 90s\nlist: [x, 5, true]\nlabels: {team: eu}\ninner: {deep: [{secretFile: f}]}\n"), "f.yaml", &s))
	if s.Name != "a" || s.Count != 3 || s.Share != 1 || !s.On || s.Every != 90*time.Second || strings.Join(s.List, " ") != "x 5 true" || s.Labels["team"] != "eu" || s.Inner.Deep[0].Secret != "f" {
		t.Errorf("%+v", s)
	}
	for _, empty := range []string{"", "# nothing\n", "---\n", "null"} {
		must.Do(t, strictyaml.Decode([]byte(empty), "f.yaml", &s))
	}
}

func TestWhatIsNoSetting(t *testing.T) {
	for text, want := range map[string]string{
		"nmae: a":                              "did you mean name?",
		"inner:\n  deep:\n    - secretfile: f": "inner.deep[0].secretfile is no setting (f.yaml, line 3) (did you mean secretFile?)",
		"colour: red":                          "there is count, every,",
		"name: a\nname: b":                     "name is there twice (f.yaml, line 2)",
		"inner:\nname: a":                      "inner is empty: leave the key out (f.yaml, line 1)",
		"list:":                                "list is empty",
		"list: [~]":                            "list[0] is empty: leave it out, or put the word null in quotes",
		"labels: {team: null}":                 "labels.team is empty",
		"every: ~":                             "every is empty",
		"name: [a]":                            "name is no single value",
		"list: a":                              "list is no list",
		"inner: 5":                             "inner has no keys below it",
		"every: 5":                             "every is no duration",
		"every: -5s":                           "every is no duration",
		"count: many":                          "count is no number",
		"share: x":                             "share is no number",
		"on: 1":                                "on is neither true nor false",
		"name: &a x\nlist: [*a]":               "anchor",
		"a: &a [x]\nb: [*a, *a]":               "is no setting",
		"name: a\n---\nname: b":                "more than one document",
		"[1]":                                  "the document has no keys",
		"name: \"unterminated":                 "cannot be read as YAML",
		"<<: {name: a}":                        "no text",
		"Ignored: x":                           "is no setting",
		strings.Repeat("#", strictyaml.MaxSize) + "#": "the limit is",
	} {
		err := strictyaml.Decode([]byte(text), "f.yaml", new(settings))
		must.Fail(t, err, posthouse.ErrInvalid)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q in it", text, err, want)
		}
	}
}

// The YAML library takes all that is taken here.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"name: a\ncount: 3", "inner: {deep: [{secretFile: f}]}", "a: &a [*a]", "? [x]\n: y", "labels: {<<: {a: b}}", "list: [~, 1.5, 2001-01-01]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var mine, theirs settings
		if strictyaml.Decode([]byte(text), "f", &mine) != nil {
			return
		}
		dec := yaml.NewDecoder(strings.NewReader(text))
		dec.KnownFields(true)
		if err := dec.Decode(&theirs); err != nil && err.Error() != "EOF" {
			t.Fatalf("%q is taken, and the library says %v", text, err)
		}
	})
}
