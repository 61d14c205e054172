package chaos

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestWitness reads what a witness may say, in parts.
func TestWitness(t *testing.T) {
	a, b := place{"t", 0}, place{"t", placeHere}
	is := func(m mark, p place) statement { return statement{Mark: m, Thread: p.thread, Step: p.step, Amount: 5} }
	says := func(v posthouse.Verdict, gate posthouse.ID, amount uint64) statement {
		return statement{Mark: decided, Thread: b.thread, Step: b.step, Gate: gate, Verdict: v, Amount: amount}
	}
	pays, approve := is(paid, b), says(posthouse.Approve, "g", 5)
	for name, c := range map[string]struct {
		lines []statement
		want  []fault
	}{
		"again before it is on record": {[]statement{is(executed, a), is(executed, a), is(recorded, a)}, nil},
		"again after it":               {[]statement{is(executed, a), is(recorded, a), is(executed, a)}, []fault{stepAgain}},
		"approved":                     {[]statement{approve, pays}, nil},
		"approved, said twice":         {[]statement{approve, approve, pays}, nil},
		"edited":                       {[]statement{says(posthouse.Edit, "g", 5), pays}, nil},
		"too early":                    {[]statement{pays, approve}, []fault{tooEarly}},
		"too early, and again":         {[]statement{pays, approve, pays}, []fault{twice, tooEarly}},
		"twice on one decision":        {[]statement{approve, pays, pays}, []fault{twice}},
		"on a second decision":         {[]statement{approve, says(posthouse.Redo, "outcome", 5), pays}, nil},
		"twice, on two decisions":      {[]statement{approve, pays, says(posthouse.Redo, "outcome", 5), pays}, []fault{twice}},
		"unasked":                      {[]statement{pays}, []fault{unasked}},
		"an outcome is no approval":    {[]statement{says(posthouse.Happened, "outcome", 5), pays}, []fault{unasked}},
		"rejected":                     {[]statement{says(posthouse.Reject, "g", 5), pays}, []fault{refused}},
		"rejected later":               {[]statement{pays, says(posthouse.Reject, "g", 5)}, []fault{refused}},
		"another amount":               {[]statement{says(posthouse.Edit, "g", 6), pays}, []fault{altered}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "witness")
			w, err := openWitness(path)
			if err != nil {
				t.Fatal(err)
			}
			e, err := listen(path)
			if err != nil {
				t.Fatal(err)
			}
			defer e.f.Close()
			for _, s := range c.lines {
				if err := w.write(s); err != nil {
					t.Fatal(err)
				}
				if err := e.hear(); err != nil {
					t.Fatal(err)
				}
			}
			told, err := e.end()
			if err != nil || w.f.Close() != nil {
				t.Fatal(err)
			}
			var have []fault
			for _, f := range told.Violations {
				have = append(have, f.fault)
			}
			if !slices.Equal(have, c.want) {
				t.Errorf("found %v, want %v: %v", have, c.want, told.Violations)
			}
		})
	}
}

// TestWitnessIsDamaged refuses what no process has written.
func TestWitnessIsDamaged(t *testing.T) {
	for _, text := range []string{"x t 1\n", `{"mark":"x","thread":"t"`, `{"mark":"?","thread":"t"}` + "\n", `{"marks":"x"}` + "\n"} {
		path := filepath.Join(t.TempDir(), "witness")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := listen(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.end(); err == nil {
			t.Errorf("%q was read", text)
		}
		if err := e.f.Close(); err != nil {
			t.Error(err)
		}
	}
}
