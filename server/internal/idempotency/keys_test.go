package idempotency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/store/memstore"
)

// A desk is keys over a store in memory, with a clock.
type desk struct {
	*Keys
	store *memstore.Store
	at    time.Time
}

func openDesk(t testing.TB) *desk {
	t.Helper()
	d := &desk{store: memstore.New(), at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	l, err := ledger.Open(d.store, nil)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, l.Close()); must.Do(t, d.store.Close()) })
	d.Keys = New(l, func() time.Time { return d.at })
	return d
}

func (d *desk) begin(t testing.TB, who, key, body string) (*Request, *Answer, error) {
	t.Helper()
	return d.Begin(t.Context(), &Intent{Principal: who, Key: key, Sent: []string{body}})
}

func wantRefused(t testing.TB, err error, code posthouse.Code) {
	t.Helper()
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}

// TestKeyStandsForADay for one request of one principal, and its answer for as long.
func TestKeyStandsForADay(t *testing.T) {
	d := openDesk(t)
	q, a, err := d.begin(t, "alice", "k", "one")
	if err != nil || a != nil || q.Again || q.ID == "" {
		t.Fatalf("a new key: %+v, %+v, %v", q, a, err)
	}
	_, _, err = d.begin(t, "alice", "k", "one")
	wantRefused(t, err, problem.CodeInProgress)
	_, _, err = d.begin(t, "alice", "k", "two")
	wantRefused(t, err, problem.CodeKeyReused)
	if bob, _, err := d.begin(t, "bob", "k", "two"); err != nil || bob.Again || bob.ID == q.ID {
		t.Errorf("another person's key: %+v, %v", bob, err)
	}
	body := []byte(`{"account":9007199254740993}`)
	must.Do(t, q.Keep(t.Context(), NewAnswer(201, http.Header{"Etag": {`"x"`}, "X-Other": {"y"}}, body)))
	d.at = d.at.Add(23 * time.Hour)
	_, a, err = d.begin(t, "alice", "k", "one")
	if err != nil || a == nil || a.Status != 201 || !bytes.Equal(a.Body, body) || len(a.Header) != 1 || a.Header["ETag"] != `"x"` {
		t.Fatalf("a day later: %+v, %v", a, err)
	}
	for item := range d.store.Slots(t.Context(), "$requests") {
		if bytes.Contains(item.Value, []byte("account")) || bytes.Contains(item.Value, []byte("alice")) {
			t.Errorf("the store can read %s", item.Value)
		}
	}
	d.at = d.at.Add(time.Hour)
	if again, a, err := d.begin(t, "alice", "k", "two"); err != nil || a != nil || again.ID == q.ID {
		t.Errorf("after its time the key stands for the first request: %+v, %+v, %v", again, a, err)
	}
}

// TestRequestOfAServerThatIsGone runs again under its id once it is not held any more, and what the
// first attempt says after that does not count.
func TestRequestOfAServerThatIsGone(t *testing.T) {
	d := openDesk(t)
	q, _, err := d.begin(t, "alice", "k", "one")
	must.Do(t, err)
	d.at = d.at.Add(20 * time.Second)
	must.Do(t, q.renew(t.Context()))
	d.at = d.at.Add(20 * time.Second)
	_, _, err = d.begin(t, "alice", "k", "one")
	wantRefused(t, err, problem.CodeInProgress)
	d.at = d.at.Add(10 * time.Second)
	next, a, err := d.begin(t, "alice", "k", "one")
	if err != nil || a != nil || !next.Again || next.ID != q.ID || !next.At.Equal(q.At) {
		t.Fatalf("once it is free: %+v, %+v, %v", next, a, err)
	}
	must.Do(t, q.End(t.Context(), 400))
	must.Do(t, q.Keep(t.Context(), NewAnswer(200, nil, []byte("late"))))
	_, _, err = d.begin(t, "alice", "k", "one")
	wantRefused(t, err, problem.CodeInProgress)
	must.Do(t, next.Keep(t.Context(), NewAnswer(200, nil, []byte("second"))))
	if _, a, err := d.begin(t, "alice", "k", "one"); err != nil || a == nil || string(a.Body) != "second" {
		t.Errorf("the answer is %+v, %v", a, err)
	}
}

// TestFailedRequestMayRunAgain: after 4xx with another body, after 5xx with the same.
func TestFailedRequestMayRunAgain(t *testing.T) {
	d := openDesk(t)
	for _, status := range []int{400, 500} {
		key := fmt.Sprint(status)
		q, _, err := d.begin(t, "alice", key, "one")
		must.Do(t, err)
		must.Do(t, q.End(t.Context(), status))
		same, _, err := d.begin(t, "alice", key, "one")
		if err != nil || !same.Again || same.ID != q.ID {
			t.Errorf("after %d: %+v, %v", status, same, err)
			continue
		}
		must.Do(t, same.End(t.Context(), status))
		other, _, err := d.begin(t, "alice", key, "two")
		if status == 500 {
			wantRefused(t, err, problem.CodeKeyReused)
		} else if err != nil || other.Again || other.ID == q.ID {
			t.Errorf("after %d another body: %+v, %v", status, other, err)
		}
	}
}

// TestAnswerThatIsLost or too large has its request run again, under its id.
func TestAnswerThatIsLost(t *testing.T) {
	d := openDesk(t)
	noise := make([]byte, 2<<20)
	seed := uint64(1)
	for i := range noise {
		seed = seed*6364136223846793005 + 1442695040888963407
		noise[i] = byte(seed >> 56)
	}
	for name, lose := range map[string]func(q *Request){
		"large": func(q *Request) { must.Do(t, q.Keep(t.Context(), NewAnswer(200, nil, noise))) },
		"gone": func(q *Request) {
			must.Do(t, q.Keep(t.Context(), NewAnswer(200, nil, []byte("answer"))))
			step, _ := q.named.place()
			_, err := d.store.Slot(t.Context(), answerSlot(step, q.rec.Slot), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
			must.Do(t, err)
		},
		"written over": func(q *Request) {
			must.Do(t, q.Keep(t.Context(), NewAnswer(200, nil, []byte("answer"))))
			step, _ := q.named.place()
			_, err := d.store.Slot(t.Context(), answerSlot(step, q.rec.Slot), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("another's"), Revision: posthouse.AnyRevision})
			must.Do(t, err)
		},
	} {
		q, _, err := d.begin(t, "alice", name, "one")
		must.Do(t, err)
		lose(q)
		again, a, err := d.begin(t, "alice", name, "one")
		if err != nil || a != nil || !again.Again || again.ID != q.ID {
			t.Errorf("%s: %+v, %+v, %v", name, again, a, err)
		}
		_, _, err = d.begin(t, "alice", name, "one")
		wantRefused(t, err, problem.CodeInProgress)
	}
}

// TestHostileKeys: a client that makes keys without end fills its own share, leaves the others
// theirs, and what is kept stays within its bounds, also once the time of all is over.
func TestHostileKeys(t *testing.T) {
	d := openDesk(t)
	step, _ := (&named{"mallory", "k"}).place()
	ofBucket := func(who string, i int) string { // a key in the one bucket
		for n := 0; ; n++ {
			key := fmt.Sprint(strings.Repeat("x", 200), i, ".", n)
			if s, _ := (&named{who, key}).place(); s == step {
				return key
			}
		}
	}
	made := 0
	fill := func(who string, n int) (taken int) {
		for i := range n {
			made++
			q, _, err := d.begin(t, who, ofBucket(who, made), "body")
			if err != nil {
				wantRefused(t, err, problem.CodeTooMany)
				return taken
			}
			if i < 20 {
				must.Do(t, q.Keep(t.Context(), NewAnswer(200, nil, []byte("answer"))))
			}
			taken++
		}
		return taken
	}
	taken := fill("mallory", 30)
	must.Do(t, d.update(t.Context(), step, func(b *bucket) (bool, error) { // and those in between, at once
		for i := taken; i < keysOfSlot/2-10; i++ {
			rec, err := d.fresh(t.Context(), &Intent{}, (&named{"mallory", "k"}).digest("body"))
			must.Do(t, err)
			rec.By, rec.Slot = (&named{principal: "mallory"}).owner(), b.freeSlot()
			b.records[strings.Repeat("0", 58)+fmt.Sprint(1000+i)] = rec
		}
		return true, nil
	}))
	if n := fill("mallory", 50); n != 10 {
		t.Errorf("one principal has %d keys of a slot, want %d", keysOfSlot/2-10+n, keysOfSlot/2)
	}
	if n := fill("alice", 20); n != 20 {
		t.Errorf("another one is refused after %d", n)
	}
	have, err := d.store.Slot(t.Context(), posthouse.SlotKey{Thread: keysThread, Step: step}, posthouse.SlotOp{})
	if err != nil || len(have.Value) > maxRecords/2 {
		t.Errorf("half of a slot takes %d bytes, %v", len(have.Value), err)
	}
	d.at = d.at.Add(25 * time.Hour)
	if n := fill("mallory", 60); n != 60 {
		t.Errorf("a day later it is refused after %d", n)
	}
	slots := 0
	for range d.store.Slots(t.Context(), keysThread) {
		slots++
	}
	if slots > 1+20 {
		t.Errorf("%d slots are left, of records and answers", slots)
	}
}

// FuzzUnpack: what a store gives back for an answer is an answer, or an error.
func FuzzUnpack(f *testing.F) {
	a, err := (&Answer{Status: 200, Header: map[string]string{"ETag": "x"}, Body: []byte("body")}).pack()
	must.Do(f, err)
	f.Add(a)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packed []byte) {
		a, err := unpack(packed)
		if err == nil && (a.Status < 200 || a.Status > 299) {
			t.Errorf("status %d", a.Status)
		}
	})
}

// TestManyProcessesWithOneKey: of many that begin at once, one works on it.
func TestManyProcessesWithOneKey(t *testing.T) {
	d := openDesk(t)
	others := New(d.ledger, d.now)
	won := make(chan *Request, 100)
	for i := range 100 {
		k := d.Keys
		if i%2 == 0 {
			k = others
		}
		go func() {
			q, _, err := k.Begin(context.Background(), &Intent{Principal: "alice", Key: "k", Sent: []string{"one"}})
			if err != nil && posthouse.Code(problem.Client(err).Code) != problem.CodeInProgress {
				q = &Request{}
			}
			won <- q
		}()
	}
	n := 0
	for range 100 {
		if q := <-won; q != nil {
			n++
			if q.ID == "" {
				t.Error("a request failed otherwise than by being under way")
			}
		}
	}
	if n != 1 {
		t.Errorf("%d work on it", n)
	}
}
