package coord_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/posthouse/posthouse/coord"
)

// FuzzEvent reads events as they come out of a log of somebody's own: what
// decodes encodes to the same again, and is one line without control characters.
func FuzzEvent(f *testing.F) {
	f.Add(`{"id":"1","kind":"AgentCompleted","coordinationId":"c","at":"2026-01-02T03:04:05Z","text":"a\nb\u001b[2J","data":{"n":[1,2]}}`)
	f.Add(`{"kind":"CommitmentRecorded","commitment":{"issuer":"x=y","outcome":"\u2028"},"fork":{"thread":"\u0000"},"elapsedMs":-5}`)
	f.Fuzz(func(t *testing.T, data string) {
		var e, again coord.Event
		if json.Unmarshal([]byte(data), &e) != nil {
			return
		}
		if line := e.String(); strings.ContainsFunc(line, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
			t.Fatalf("line %q", line)
		}
		first, err := json.Marshal(e)
		if err != nil {
			return // a time that JSON cannot hold
		}
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatal(err)
		}
		if second := mustJSON(t, again); second != string(first) {
			t.Fatalf("%s\nbecomes %s", first, second)
		}
	})
}
