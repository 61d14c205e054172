package natshint_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/hint"
)

// TestLetters are listed, replayed once, removed and purged.
func TestLetters(t *testing.T) {
	ctx, conn := t.Context(), startNATS(t, nil)
	q := open(t, conn, nil)
	if all, err := q.Letters(ctx, 10); err != nil || len(all) != 0 {
		t.Errorf("all %+v, error %v", all, err)
	}
	h := hint.Hint{Gate: "g", Thread: "t", Task: "x"}
	for _, l := range []deadletter.Letter{
		{Kind: deadletter.Hint, Subject: "posthouse.hint.x.=.g", Reason: "an engine of another release", Data: h.Encode()},
		{Kind: deadletter.Request, Subject: "posthouse.task.any.connect", Reason: "two\r\nlines: " + strings.Repeat("é", 2000), Data: []byte("{")},
		{Kind: deadletter.Hint, Subject: "posthouse.hint.x.=.big", Reason: "too large", Data: make([]byte, 100_000)},
		{Kind: deadletter.Hint, Subject: "elsewhere.hint.x.=.g", Reason: "x", Data: h.Encode()},
	} {
		if err := q.Put(ctx, l); err != nil {
			t.Fatal(err)
		}
	}
	all, err := q.Letters(ctx, 10)
	if err != nil || len(all) != 4 || all[3].Reason != "an engine of another release" || all[1].Size != 100_000 || len(all[1].Data) != deadletter.MaxData {
		t.Fatalf("all %+v, error %v", all, err)
	}
	if r := all[2].Reason; strings.ContainsAny(r, "\r\n") || len(r) > 1000 || !strings.HasPrefix(r, "two  lines") {
		t.Errorf("%q", r)
	}
	slices.Reverse(all)
	for i, want := range []error{nil, posthouse.ErrUnsupported, posthouse.ErrTooLarge, posthouse.ErrInvalid} {
		if err := q.Replay(ctx, all[i].ID); !errors.Is(err, want) {
			t.Errorf("%+v: %v", all[i], err)
		}
	}
	if d := take(t, q, demand(1))[0]; d.Hint() != h {
		t.Errorf("d.Hint() %+v", d.Hint())
	}
	if err := q.Remove(ctx, all[1].ID); err != nil {
		t.Error(err)
	}
	for _, id := range []string{all[0].ID, all[1].ID, "0", "x", "99"} {
		if err := q.Replay(ctx, id); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
		if err := q.Remove(ctx, id); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if n, err := q.Purge(ctx); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if all, err := q.Letters(ctx, 10); err != nil || len(all) != 0 {
		t.Errorf("all %+v, error %v", all, err)
	}
}

// TestServerWithoutFiles keeps dead letters in memory.
func TestServerWithoutFiles(t *testing.T) {
	q := open(t, startNATS(t, func(o *server.Options) { o.JetStreamMaxMemory, o.JetStreamMaxStore = 64<<20, 1 }), nil)
	if err := q.Put(t.Context(), deadletter.Letter{Kind: deadletter.Request, Subject: "s", Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	if all, err := q.Letters(t.Context(), 1); err != nil || len(all) != 1 || time.Since(all[0].At) > time.Hour {
		t.Errorf("all %+v, error %v", all, err)
	}
}
