package tokens

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzTokensFile makes sure that nothing but a well-formed list lets anyone in.
func FuzzTokensFile(f *testing.F) {
	good := `{"version":1,"tokens":[{"name":"a","role":"viewer","hash":"` + strings.Repeat("ab", 32) + `","createdAt":"2026-01-01T00:00:00Z"}]}`
	for _, s := range []string{good, "", "{}", `{"version":1}`, strings.Replace(good, "viewer", "root", 1), strings.Replace(good, `"role"`, `"ROLE"`, 1), strings.Replace(good, "ab", "zz", 1), good + good} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := parse(data)
		if err != nil {
			return
		}
		ts := doc.Tokens
		names := map[string]bool{}
		for _, x := range ts {
			if names[x.Name] || validName(x.Name) != nil || !x.Role.Valid() || x.Hash.IsZero() {
				t.Fatalf("it reads %+v", x)
			}
			names[x.Name] = true
		}
		out, err := json.Marshal(doc)
		if err != nil {
			return // a year that RFC 3339 cannot write
		}
		again, err := parse(out)
		if err != nil || len(again.Tokens) != len(ts) || len(again.Gone) != len(doc.Gone) {
			t.Fatalf("what was read does not read again: %v", err)
		}
	})
}
