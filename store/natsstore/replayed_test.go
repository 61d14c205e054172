package natsstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestMisplacedMessages writes the log's stream again with messages that are swapped, sent
// again, missing, or in another's place. Each is found, or changes nothing that is read,
// with one exception: the last message of a thread, if it is missing after the last
// witness.
func TestMisplacedMessages(t *testing.T) {
	for _, witnessed := range []bool{true, false} {
		t.Run(fmt.Sprint("witnessed=", witnessed), func(t *testing.T) {
			dir := t.TempDir()
			want := filledServer(t, dir, witnessed)
			tally := damage.Begin(t)
			for _, c := range misplacements() {
				got, err := rewritten(t, dir, c.change)
				switch {
				case err == nil && got != want && !witnessed && c.tail:
					tally.Older(c.kind) // nothing says that it was there
				case err == nil && got != want:
					tally.Served(c.kind, "%s: served as if nothing had happened", c.what)
				case err == nil:
					tally.Same(c.kind)
				default:
					tally.Found(c.kind)
				}
			}
			for _, kind := range []string{"swapped", "missing", "in another's place"} {
				if tally.Of(kind).Found == 0 {
					t.Errorf("nothing that was %s was found", kind)
				}
			}
			if got, err := rewritten(t, dir, slices.Clone[[]*jetstream.RawStreamMsg]); err != nil || got != want {
				t.Errorf("written again as it was: %v", err)
			}
		})
	}
}

// logLength is how many messages the log of filledServer has.
const logLength = 6

// filledServer makes a store of two threads on a server with the directory dir, and ends
// the server. Without a witness the server ends before the store is closed.
func filledServer(t *testing.T, dir string, witnessed bool) (text string) {
	n := startServer(t, dir)
	s, err := natsstore.Open(t.Context(), n.ClientURL(), &natsstore.Options{Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	b := storetest.NewBuilder()
	logs := []*storetest.Log{b.Log("t0"), b.Log("t1")}
	for i := range logLength / 2 {
		for _, l := range logs {
			servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{Run: "r", Status: posthouse.StatusWaiting}, fmt.Sprint("state ", i)), l.Gate(b.GateID(), b.Now().Add(time.Hour)))
		}
	}
	text, err = storetest.Dump(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if !witnessed {
		n.stop()
	}
	if err := s.Close(); err != nil && witnessed {
		t.Fatal(err)
	}
	n.stop()
	return text
}

// A misplacement changes the log.
type misplacement struct {
	kind, what string
	tail       bool // no later message of the thread is left
	change     func([]*jetstream.RawStreamMsg) []*jetstream.RawStreamMsg
}

func misplacements() (all []misplacement) {
	add := func(kind, what string, change func(ms []*jetstream.RawStreamMsg) []*jetstream.RawStreamMsg) {
		all = append(all, misplacement{kind: kind, what: what, change: change})
	}
	for i := range logLength {
		add("missing", fmt.Sprint("message ", i, " missing"), func(ms []*jetstream.RawStreamMsg) []*jetstream.RawStreamMsg { return slices.Delete(ms, i, i+1) })
		all[len(all)-1].tail = i >= logLength-2
		add("sent again", fmt.Sprint("message ", i, " sent again"), func(ms []*jetstream.RawStreamMsg) []*jetstream.RawStreamMsg { return append(ms, ms[i]) })
		for j := range logLength {
			if j > i {
				add("swapped", fmt.Sprint("messages ", i, " and ", j, " swapped"), func(ms []*jetstream.RawStreamMsg) []*jetstream.RawStreamMsg {
					ms[i], ms[j] = ms[j], ms[i]
					return ms
				})
			}
			if j != i {
				add("in another's place", fmt.Sprint("message ", i, " in the place of ", j), func(ms []*jetstream.RawStreamMsg) []*jetstream.RawStreamMsg {
					ms[j] = &jetstream.RawStreamMsg{Subject: ms[j].Subject, Header: ms[j].Header, Data: ms[i].Data}
					return ms
				})
			}
		}
	}
	return all
}

// rewritten changes the log on a server with a copy of dir, and returns what a store then
// says.
func rewritten(t *testing.T, dir string, change func([]*jetstream.RawStreamMsg) []*jetstream.RawStreamMsg) (string, error) {
	t.Helper()
	room := filepath.Join(t.TempDir(), "copy")
	defer os.RemoveAll(room)
	if err := os.CopyFS(room, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	n := startServer(t, room)
	defer n.stop()
	rewrite(t, n.ClientURL(), change)
	s, err := natsstore.Open(t.Context(), n.ClientURL(), &natsstore.Options{Timeout: 2 * time.Second})
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Close() }() // it may be damaged
	return storetest.Dump(t.Context(), s)
}

// rewrite makes the log's stream again.
func rewrite(t *testing.T, url string, change func([]*jetstream.RawStreamMsg) []*jetstream.RawStreamMsg) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := nats.Connect(url)
	must(err)
	defer c.Close()
	js, err := jetstream.New(c)
	must(err)
	log, err := js.Stream(t.Context(), "posthouse-log")
	must(err)
	info, err := log.Info(t.Context())
	must(err)
	var all []*jetstream.RawStreamMsg
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := log.GetMsg(t.Context(), seq)
		must(err)
		all = append(all, m)
	}
	if len(all) != logLength {
		t.Fatalf("the log has %d messages", len(all))
	}
	must(js.DeleteStream(t.Context(), "posthouse-log"))
	_, err = js.CreateStream(t.Context(), info.Config)
	must(err)
	for _, m := range change(all) {
		_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Data: m.Data}) // what it expected does not hold here
		must(err)
	}
}
