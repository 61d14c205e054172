package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/filestore"
	"github.com/posthouse/posthouse/store/storetest"
)

func TestCat(t *testing.T) {
	e := &encrypted{t: t, dir: t.TempDir(), env: map[string]string{"HOME": t.TempDir()}}
	dir := filepath.Join(e.dir, "files")
	s, err := filestore.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := storetest.NewBuilder().Log("tea")
	batch := l.Next(l.Checkpoint(posthouse.Header{}, "state"), l.Step("s", []byte("result")))
	if err := s.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	key := posthouse.SlotKey{Thread: "tea", Step: "pot"}
	if _, err := s.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	files := func(pattern string) []string {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(names) != 1 {
			t.Fatalf("%s: %v %v", pattern, names, err)
		}
		return names
	}
	journal := e.cli(posthouse.ExitOK, "cat", files("journal/*.log")[0])
	for _, want := range []string{"segment 1", "a commit", "entry 1 of tea: checkpoint, step", "slot pot of tea, revision 1"} {
		if !strings.Contains(journal, want) {
			t.Errorf("the journal lacks %q:\n%s", want, journal)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name := files("threads/*/*.log")[0]
	lines := strings.Split(strings.TrimSpace(e.cli(posthouse.ExitOK, "cat", "--json", name)), "\n")
	var line catLine
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 || line.Kind != "entry" || line.Seq != 1 || line.Hash != batch.Entry.Hash || line.Bodies != len("stateresult") || len(line.Records) != 2 {
		t.Errorf("%d lines, the last %+v", len(lines), line)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := e.cli(posthouse.ExitCorrupt, "cat", name); !strings.Contains(out, "the log of tea") || !bytes.Contains([]byte(out), []byte("is damaged")) {
		t.Errorf("with damage it says\n%s", out)
	}
	e.cli(posthouse.ExitNotFound, "cat", name+".none")
}
