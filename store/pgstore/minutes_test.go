package pgstore_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestSchemaWithoutMinutes opens a store as the version before left it: threads are listed by
// activity, and go on.
func TestSchemaWithoutMinutes(t *testing.T) {
	url := pgtest.URL(t)
	s, b := open(t, pgstore.Options{}), storetest.NewBuilder()
	const threads = 600 // more than are filled at once
	var logs []*storetest.Log
	var want []string
	for i := range threads {
		l := b.Log(fmt.Sprintf("t%03d", i*7%threads))
		servertest.Take(t, s, l, l.Step("s", []byte("x")))
		logs, want = append(logs, l), append(want, l.Info.Thread)
		if i%10 == 9 {
			slices.Sort(want[i-9:])
			b.Advance(time.Minute)
		}
	}
	slices.Reverse(want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile("migrations/0001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, functions, _ := strings.Cut(string(first), "-- append appends one entry.")
	c := connect(t, url)
	for _, script := range []string{
		"DROP TABLE posthouse.marks; DROP FUNCTION posthouse.mark CASCADE; ALTER TABLE posthouse.threads DROP COLUMN marks; DROP FUNCTION posthouse.append; DROP FUNCTION posthouse.append_many; DROP INDEX posthouse.threads_minute",
		"ALTER TABLE posthouse.threads DROP COLUMN minute; UPDATE posthouse.meta SET version = 2",
		"--" + functions,
	} {
		if _, err := c.PgConn().Exec(t.Context(), inSchema(t, script)).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, pgstore.Options{})
	if have := newest(t, s); !slices.Equal(have, want) {
		t.Errorf("the newest threads are %q, want %q", have, want)
	}
	b.Advance(time.Minute)
	l := logs[0]
	servertest.Take(t, s, l, l.Step("again", []byte("y")))
	if have := newest(t, s); have[0] != l.Info.Thread {
		t.Errorf("the newest thread is %q after an append to %q", have[0], l.Info.Thread)
	}
	servertest.WantChecked(t, s)
}

func newest(t *testing.T, s *pgstore.Store) (names []string) {
	t.Helper()
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{Newest: true}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, info.Thread)
	}
	return names
}
