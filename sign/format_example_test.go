package sign_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/must"
)

// TestFormatExample checks that the example in docs/format.md is what the
// golden thread holds, and writes it when asked.
func TestFormatExample(t *testing.T) {
	const path, begin, end = "../docs/format.md", "<!-- example -->\n", "<!-- /example -->"
	g := readGolden(t)
	var b strings.Builder
	for _, i := range []int{1, 2} {
		e := g.Entries[i]
		fmt.Fprintf(&b, "\nEntry %d of thread `%s`, %s; generation %d.\n\n```\n", e.Seq, g.Thread, millis(e.Header), e.Generation)
		c := &cursor{b: e.Header, knows: newest}
		c.header(g.Thread)
		b.WriteString(strings.Join(c.trace, "\n"))
		fmt.Fprintf(&b, "\n\nheader %x\nprev   %x\nhash   %x\nsig    %x\n", e.Header, e.Prev, e.Hash, e.Sig)
		for j, body := range e.Bodies {
			fmt.Fprintf(&b, "body %d %q\n", j, body)
		}
		b.WriteString("```\n")
	}
	doc := string(must.Get(os.ReadFile(path))(t))
	before, rest, ok := strings.Cut(doc, begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/format.md has no place for the example")
	}
	switch {
	case *update:
		if err := os.WriteFile(path, []byte(before+begin+b.String()+"\n"+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case have != b.String()+"\n":
		t.Error("the example in docs/format.md is not what the format makes; run go test ./sign -run TestFormatExample -update")
	}
}

func millis(header []byte) string {
	ms, _ := binary.Uvarint(header[1:])
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02 15:04:05.000")
}
