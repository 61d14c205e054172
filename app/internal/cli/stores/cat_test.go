package stores_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/store/filestore"
	"github.com/posthouse/posthouse/store/storetest"
)

func TestCat(t *testing.T) {
	e := &clitest.Dir{T: t, Path: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	dir := filepath.Join(e.Path, "files")
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
			t.Fatalf("%s: names %v, error %v", pattern, names, err)
		}
		return names
	}
	journal := e.Run(posthouse.ExitOK, "cat", files("journal/*.log")[0])
	for _, want := range []string{"segment 1", "a commit", "entry 1 of tea: checkpoint, step", "slot pot of tea, revision 1"} {
		if !strings.Contains(journal, want) {
			t.Errorf("the journal lacks %q:\n%s", want, journal)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name := files("threads/*/*.log")[0]
	lines := strings.Split(strings.TrimSpace(e.Run(posthouse.ExitOK, "cat", "--json", name)), "\n")
	one := e.Run(posthouse.ExitOK, "cat", name)
	if twice := e.Run(posthouse.ExitOK, "cat", name, name); twice != one+one {
		t.Errorf("of the file twice it prints\n%s, of the file\n%s", twice, one)
	}
	if said := e.Run(posthouse.ExitUsage, "cat"); !strings.Contains(said, "takes 1 argument or more") {
		t.Errorf("without a file it says %s", said)
	}
	var line struct {
		Kind    string
		Seq     uint64
		Hash    posthouse.Hash
		Bodies  int
		Records []posthouse.RecordKind
	}
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
	if out := e.Run(posthouse.ExitCorrupt, "cat", name); !strings.Contains(out, "the log of tea") || !bytes.Contains([]byte(out), []byte("is damaged")) {
		t.Errorf("with damage it says\n%s", out)
	}
	e.Run(posthouse.ExitNotFound, "cat", name+".none")
}
