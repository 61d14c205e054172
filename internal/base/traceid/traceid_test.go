package traceid

import (
	"fmt"
	"strings"
	"testing"
)

const valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func Example() {
	c, ok := Parse(valid)
	fmt.Println(ok, c.TraceID(), c.SpanID(), c.Flags)
	// Output: true 4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 1
}

func TestParse(t *testing.T) {
	for _, s := range []string{valid, valid[:53] + "00", "01" + valid[2:], "cc" + valid[2:] + "-what-comes"} {
		if c, ok := Parse(s); !ok || !strings.HasPrefix(c.String()[2:], s[2:53]) {
			t.Errorf("%q is %v, %v", s, c, ok)
		}
	}
	for _, s := range []string{
		"", "00", valid[:54], valid + "0", valid + "-01", "ff" + valid[2:], strings.ToUpper(valid), "cc" + valid[2:] + "x",
		"00-" + strings.Repeat("0", 32) + valid[35:], valid[:36] + strings.Repeat("0", 16) + "-01", strings.Replace(valid, "-", "_", 1),
		"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x", " " + valid,
	} {
		if c, ok := Parse(s); ok {
			t.Errorf("%q is taken as %v", s, c)
		}
	}
}

func TestNew(t *testing.T) {
	a, b := New(), New()
	if a == b {
		t.Errorf("two traces are %v", a)
	}
	if again, ok := Parse(a.String()); !ok || again != a {
		t.Errorf("%v is read as %v, %v", a, again, ok)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(valid)
	f.Add("cc" + valid[2:] + "-x")
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := Parse(s)
		if !ok {
			if c != (Context{}) {
				t.Errorf("%q is refused, and %v", s, c)
			}
			return
		}
		if again, ok := Parse(c.String()); !ok || again != c {
			t.Errorf("%q is %v, then %v", s, c, again)
		}
	})
}
