package natshint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/hint"
	"github.com/posthouse/posthouse/task/natshint"
)

// TestEachHintGoesToOne: 500 hints, each told twice by two engines that take at once.
func TestEachHintGoesToOne(t *testing.T) {
	conn := startNATS(t, nil)
	engines := []*natshint.Queue{open(t, conn, nil), open(t, conn, nil)}
	const n = 500
	var gates []posthouse.ID
	for i := range n {
		gates = append(gates, posthouse.ID(fmt.Sprint("gate-", i)))
	}
	for _, q := range engines {
		publish(t, q, false, gates...)
		publish(t, q, true, gates...) // the server has them
	}
	var mu sync.Mutex
	got := map[posthouse.ID]int{}
	var group sync.WaitGroup
	for _, q := range engines {
		group.Go(func() {
			for _, d := range take(t, q, demand(n/2)) {
				mu.Lock()
				got[d.Hint().Gate]++
				mu.Unlock()
				d.Ack()
			}
		})
	}
	group.Wait()
	for _, g := range gates {
		if got[g] != 1 {
			t.Errorf("%s came %d times", g, got[g])
		}
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	none(t, engines[0], demand(1))
	publish(t, engines[0], false, gates[0]) // within the last minutes
	none(t, engines[0], demand(1))
	publish(t, engines[0], true, gates[0])
	take(t, engines[0], demand(1))
}

// TestNamesAreKeptApart: any name has subjects of its own, the longest, too.
func TestNamesAreKeptApart(t *testing.T) {
	q := open(t, startNATS(t, nil), nil)
	long := strings.Repeat("é", posthouse.MaxID/2)
	var all []hint.Hint
	for i, name := range []string{"x", "X", "x.y", "*", ">", "=", "=2E", "x y", "日本", long} {
		for _, group := range []string{"", "gpu", "=", ">", long} {
			all = append(all, hint.Hint{Gate: posthouse.ID(fmt.Sprintf("gate$%d:%s", i, strings.Repeat(".", 150))), Thread: "t", Task: name, Group: group})
		}
	}
	if err := q.Publish(t.Context(), false, all[:1]...); err != nil {
		t.Fatal(err)
	}
	if err := q.Publish(t.Context(), true, all...); err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		d := take(t, q, hint.Demand{Task: h.Task, Group: h.Group, N: 1, Wait: time.Minute, Lease: time.Minute})
		if d[0].Hint() != h {
			t.Errorf("%+v came for %+v", d[0].Hint(), h)
		}
	}
}

// TestHintsComeAgain: from an engine that gives one back, that asks for it later, and that is
// silent; not from one that is at work, or is done.
func TestHintsComeAgain(t *testing.T) {
	q := open(t, startNATS(t, nil), nil)
	d := demand(1)
	d.Lease = 500 * time.Millisecond
	publish(t, q, false, "g")
	take(t, q, d)[0].Later(0)
	start := time.Since(time.Unix(0, 0))
	take(t, q, d)[0].Later(200 * time.Millisecond)
	take(t, q, d) // and is silent
	if waited := time.Since(time.Unix(0, 0)) - start; waited < 200*time.Millisecond {
		t.Errorf("it came after %s", waited)
	}
	at := take(t, q, d)[0]
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				at.InProgress()
			case <-ctx.Done():
				return
			}
		}
	})
	none(t, q, d) // for 3 s
	cancel()
	group.Wait()
	at.Ack()
	none(t, q, d)
}

// TestLimit: not more hints are with engines than a task and group may have.
func TestLimit(t *testing.T) {
	q := open(t, startNATS(t, nil), nil)
	d := demand(2)
	d.Most = 2
	publish(t, q, false, "a", "b", "c")
	have := take(t, q, d)
	none(t, q, d)
	have[1].Ack()
	d.N = 1
	if c := take(t, q, d); c[0].Hint().Gate != "c" {
		t.Error(c[0].Hint())
	}
	d.Most = 3 // it may be changed
	publish(t, q, false, "e")
	take(t, q, d)
}

// TestLostStreams: a queue that was purged can be told again; one that was deleted says so and
// is made again, and so is one that lost its consumer.
func TestLostStreams(t *testing.T) {
	conn := startNATS(t, nil)
	q := open(t, conn, nil)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, q, false, "a")
	s, err := js.Stream(t.Context(), "posthouse-hints")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, q, true, "a")
	held := take(t, q, demand(1))[0]
	for name := range s.ConsumerNames(t.Context()).Name() {
		if err := s.DeleteConsumer(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	again := take(t, q, demand(1))[0] // no engine says that it is at work
	held.Ack()                        // has no receiver
	again.Ack()

	if err := js.DeleteStream(t.Context(), "posthouse-hints"); err != nil {
		t.Fatal(err)
	}
	if err := q.Take(t.Context(), demand(1), func(hint.Delivery) {}); !errors.Is(err, posthouse.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if err := q.Publish(t.Context(), true, hint.Hint{Gate: "a", Thread: "t", Task: "x"}); !errors.Is(err, posthouse.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if err := q.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, q, true, "a")
	take(t, q, demand(1))
}

// TestDeliveriesOfALostStream: what an engine says of a hint when the stream was made again is
// not taken for another hint, which has its number now.
func TestDeliveriesOfALostStream(t *testing.T) {
	conn := startNATS(t, nil)
	q := open(t, conn, nil)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, q, false, "a")
	late := take(t, q, demand(1))[0]
	if err := js.DeleteStream(t.Context(), "posthouse-hints"); err != nil {
		t.Fatal(err)
	}
	if err := q.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, q, true, "b")
	have := take(t, q, demand(1))[0]
	late.Ack()
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	have.Later(0)
	if d := take(t, q, demand(1)); d[0].Hint().Gate != "b" {
		t.Errorf("d[0].Hint() %+v", d[0].Hint())
	}
}

// TestConsumerOfALostStream: a consumer that has the name of a stream that is lost, or that
// an older release made, gives way.
func TestConsumerOfALostStream(t *testing.T) {
	conn := startNATS(t, nil)
	q := open(t, conn, nil)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	c := jetstream.ConsumerConfig{Durable: "older", FilterSubject: "posthouse.hint.x.=.*", AckPolicy: jetstream.AckExplicitPolicy}
	if _, err := js.CreateConsumer(t.Context(), "posthouse-hints", c); err != nil {
		t.Fatal(err)
	}
	publish(t, q, false, "a")
	take(t, q, demand(1))
}

// TestWithoutJetStream says so.
func TestWithoutJetStream(t *testing.T) {
	q, err := natshint.New(startNATS(t, func(o *server.Options) { o.JetStream = false }), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Open(t.Context()); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

// TestForeignStream: a stream of that name which forgets hints at once is not used.
func TestForeignStream(t *testing.T) {
	conn := startNATS(t, nil)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "posthouse-hints", Subjects: []string{"other"}}); err != nil {
		t.Fatal(err)
	}
	q, err := natshint.New(conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Open(t.Context()); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("%v", err)
	}
	for _, o := range []natshint.Options{{Prefix: "a.b"}, {Prefix: strings.Repeat("x", 101)}, {Replicas: 6}, {Replicas: -1}} {
		if _, err := natshint.New(conn, &o); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	open(t, conn, &natshint.Options{Prefix: "desk", Files: true})
}

// TestMalformedHints: they go to the dead letters, with the reason; later hints are taken.
func TestMalformedHints(t *testing.T) {
	conn := startNATS(t, nil)
	q := open(t, conn, nil)
	big := strings.Repeat("x", 100_000)
	for gate, body := range map[string]string{
		"g1": "", "g2": "{", "g3": `{"gate":"g3","thread":"t","task":"x","state":1}`, "g4": `{"gate":"g4","thread":"t","task":"y"}`,
		"g5": `{"gate":"other","thread":"t","task":"x"}`, "g6": big, "g7": `{"gate":"g7","thread":"","task":"x"}`, "g8": "\xff\x00",
	} {
		ack, err := conn.Request("posthouse.hint.x.=."+gate, []byte(body), time.Minute)
		if err != nil || strings.Contains(string(ack.Data), "error") {
			t.Fatalf("%s: ack.Data %s, error %v", gate, ack.Data, err)
		}
	}
	publish(t, q, false, "good")
	d := demand(9)
	d.Wait = 0
	var got []posthouse.ID
	if err := q.Take(t.Context(), d, func(d hint.Delivery) { got = append(got, d.Hint().Gate); d.Ack() }); err != nil || len(got) != 1 || got[0] != "good" {
		t.Errorf("got %s, error %v", got, err)
	}
	letters, err := q.Letters(t.Context(), 100)
	if err != nil || len(letters) != 8 {
		t.Fatalf("%d letters, %v", len(letters), err)
	}
	for _, l := range letters {
		if l.Kind != deadletter.Hint || l.Reason == "" || !strings.HasPrefix(l.Subject, "posthouse.hint.x.=.g") || l.At.IsZero() || l.Size > len(l.Data) && l.Size != len(big) {
			t.Errorf("%+v", l)
		}
	}
}
