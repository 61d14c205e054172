package text

import "testing"

func TestFoldPerson(t *testing.T) {
	for _, same := range [][]string{
		{"ann@example.com", "ANN@EXAMPLE.COM", "Ann@Example.com", "ａｎｎ@example.com", "ANN＠example．com", "ann@example.ⅽom"},
		{"jürgen", "JÜRGEN", "ju\u0308rgen", "JU\u0308RGEN"},
		{"kim", "\u212aim", "KIM"},           // the sign for kelvin
		{"σοφος", "ΣΟΦΟΣ", "σοφος", "σοφοσ"}, // the final sigma
		{"ﬁn", "FIN"},
		{"straße", "STRAẞE"},
	} {
		for _, name := range same[1:] {
			if FoldPerson(name) != FoldPerson(same[0]) {
				t.Errorf("%q is %q, and %q is %q", name, FoldPerson(name), same[0], FoldPerson(same[0]))
			}
		}
	}
	for _, name := range []string{"аnn@example.com", "ann@examp1e.com", "anne@example.com", "ánn@example.com"} {
		if FoldPerson(name) == FoldPerson("ann@example.com") {
			t.Errorf("%q counts as ann@example.com", name)
		}
	}
}

func FuzzFoldPerson(f *testing.F) {
	f.Add("Ann")
	f.Add("ＡＮＮ\u0345")
	f.Fuzz(func(t *testing.T, name string) {
		once := FoldPerson(name)
		if twice := FoldPerson(once); twice != once {
			t.Errorf("%q folds to %q, and that to %q", name, once, twice)
		}
	})
}

func TestMixedScripts(t *testing.T) {
	for name, want := range map[string]bool{
		"ann": false, "Jürgen": false, "Анна": false, "аnn": true, "Ann Иванова": true, "Αnn": true, "안나": false, "アン ann": false, "ann-12": false,
	} {
		if MixedScripts(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
