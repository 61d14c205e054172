package natstask_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/natstask"
)

// ask makes a request as the worker w does, and waits for its answer.
func ask(conn *nats.Conn, subject string, body []byte) (*nats.Msg, error) {
	sub, err := conn.SubscribeSync("posthouse.answer.w.1")
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := conn.PublishRequest(subject, "posthouse.answer.w.1", body); err != nil {
		return nil, err
	}
	return sub.NextMsg(10 * time.Second)
}

// documented are the users that docs/workers.md describes.
func documented() []*server.User {
	user := func(name string, publish, subscribe []string) *server.User {
		return &server.User{Username: name, Password: name, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe},
		}}
	}
	return []*server.User{
		user("w", []string{"posthouse.task.w.*.*"}, []string{"posthouse.answer.w.>"}),
		user("other", []string{"posthouse.task.other.*.*"}, []string{"posthouse.answer.other.>"}),
		user("engine", []string{"posthouse.answer.>", "posthouse.chunk", "posthouse.hint.>", "posthouse.dead", "$JS.API.>", "$JS.ACK.>"},
			[]string{"posthouse.task.*.*.*", "posthouse.chunk", "_INBOX.>"}),
		{Username: "root", Password: "root"},
	}
}

// TestAHostileWorker has the permissions that the documents give it, and tries all that a
// server offers. It reaches its own calls and nothing else.
func TestAHostileWorker(t *testing.T) {
	as := startUsers(t, documented())
	root := as("root", nil)
	js, err := jetstream.New(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, subject := range map[string]string{"STORE": "posthouse.log.>", "posthouse-hints": "posthouse.hint.>", "posthouse-dead": "posthouse.dead"} {
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subject}, Storage: jetstream.MemoryStorage}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := js.Publish(t.Context(), "posthouse.log.t", []byte("1")); err != nil {
		t.Fatal(err)
	}
	letters := deadletter.NewMemory(time.Now)
	engine := startProgram(t, memstore.New(), as("engine", nil), nil, &natstask.Options{Letters: letters}, func(context.Context, int) (int, error) { return 0, nil })

	denied := make(chan error, 100)
	w := as("w", func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err })
	wasDenied := func(subject string) bool {
		select {
		case err := <-denied:
			return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), "\""+subject+"\"")
		case <-time.After(20 * time.Second):
			return false
		}
	}
	for _, subject := range []string{
		"$JS.API.STREAM.DELETE.STORE", "$JS.API.STREAM.PURGE.STORE", "$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.MSG.GET.STORE",
		"$JS.ACK.posthouse-hints.x.1.1.1.1.1", "$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.PING.CONNZ",
		"posthouse.log.t", "posthouse.hint.a.b.c", "posthouse.dead", "posthouse.chunk", "_INBOX.x", "posthouse.answer.other.x", "posthouse.answer.w.x",
		"posthouse.task.other.any.claim", "posthouse.task.any.claim", "posthouse.task.*.any.claim", "$KV.x.y", "$O.x",
	} {
		if err := w.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if !wasDenied(subject) {
			t.Errorf("it may publish to %s", subject)
		}
	}
	for _, subject := range []string{
		">", "posthouse.>", "posthouse.task.>", "posthouse.task.w.any.*", "posthouse.task.*.any.*", "posthouse.answer.>", "posthouse.answer.other.>", "posthouse.answer.*.x",
		"_INBOX.>", "posthouse.chunk", "posthouse.hint.>", "posthouse.dead", "posthouse.log.>", "$JS.>", "$SYS.>", "$JS.EVENT.ADVISORY.>",
	} {
		if _, err := w.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if !wasDenied(subject) {
			t.Errorf("it may subscribe to %s", subject)
		}
	}

	// The engine may publish where the worker may not: no reply subject has it do so.
	spied, err := root.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	own, err := w.SubscribeSync("posthouse.answer.w.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(root.Flush(), w.Flush()); err != nil {
		t.Fatal(err)
	}
	hostile := []string{
		"$JS.API.STREAM.DELETE.STORE", "$JS.API.STREAM.PURGE.STORE", "$JS.API.STREAM.DELETE.posthouse-hints", "$JS.API.STREAM.DELETE.posthouse-dead",
		"$JS.ACK.posthouse-hints.x.1.1.1.1.1", "$SYS.REQ.SERVER.PING", "posthouse.log.t", "posthouse.hint.a.b.c", "posthouse.dead", "posthouse.chunk", "_INBOX.engine.x",
		"posthouse.answer.other.x", "posthouse.answer.w", "posthouse.answer.w.", "posthouse.answer.ww.x", "posthouse.answer.w..x", "posthouse.answer.w.*", "posthouse.answer.w.>",
		"posthouse.answer.w.$x", "posthouse.task.w.any.disconnect", "posthouse.task.other.any.disconnect", "posthouse.answer.w." + strings.Repeat("x", 300),
	}
	for _, reply := range hostile {
		for _, m := range []*nats.Msg{
			{Data: []byte(`{"session":"worker-x"}`)}, {Data: []byte("{")},
			{Data: []byte(`{"session":"worker-x"}`), Header: nats.Header{"Nats-Msg-Id": {"1"}, "Nats-Rollup": {"all"}, "Status": {"503"}, "Posthouse-From": {"x"}}},
		} {
			m.Subject, m.Reply = "posthouse.task.w.any.disconnect", reply
			if err := w.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 100 { // messages of the largest size that are no requests
		if err := w.PublishRequest("posthouse.task.w.any.claim", "posthouse.answer.w.large", make([]byte, 256<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.PublishRequest("posthouse.task.w.any.disconnect", "posthouse.answer.w.last", []byte(`{"session":"worker-x"}`)); err != nil {
		t.Fatal(err)
	}
	for last, large := false, 0; !last || large < 100; {
		m, err := own.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		last = last || m.Subject == "posthouse.answer.w.last"
		if m.Subject == "posthouse.answer.w.large" {
			large++
		}
	}
	if err := root.Flush(); err != nil {
		t.Fatal(err)
	}
	for n, _, _ := spied.Pending(); n > 0; n, _, _ = spied.Pending() {
		m, err := spied.NextMsg(time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(m.Subject, "$JS.EVENT.ADVISORY.STREAM.CREATED.") {
			continue // the server tells of the streams that the test and the engine made
		}
		if !strings.HasPrefix(m.Subject, "posthouse.task.w.") && m.Subject != "posthouse.answer.w.last" && m.Subject != "posthouse.answer.w.large" {
			t.Errorf("a message went to %s: %.100q", m.Subject, m.Data)
		}
	}
	for _, name := range []string{"STORE", "posthouse-hints", "posthouse-dead"} {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Errorf("stream %s: %v", name, err)
		} else if n := s.CachedInfo().State.Msgs; name == "STORE" && n != 1 {
			t.Errorf("stream %s has %d messages", name, n)
		}
	}
	if all, err := letters.Letters(t.Context(), 1000); err != nil || len(all) > 100 {
		t.Errorf("%d letters, %v", len(all), err)
	}

	// A name on record is the subject's, whatever the worker says.
	far, err := natstask.NewEngine(as("other", nil), &natstask.Options{Worker: "other"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := far.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"x"}, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	thief, err := natstask.NewEngine(w, &natstask.Options{Worker: "w"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := thief.Heartbeat(t.Context(), s.ID, nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("a heartbeat of another's session: %v", err)
	}
	if all, err := engine.d.Workers(t.Context()); err != nil || len(all) != 1 || all[0].Token != "other" {
		t.Errorf("all %+v, error %v", all, err)
	}
}

// startUsers starts a server with JetStream and users, and returns how to connect as one.
func startUsers(t *testing.T, users []*server.User) func(name string, failed nats.ErrHandler) *nats.Conn {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		ServerName: "test", DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), Users: users,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return func(name string, failed nats.ErrHandler) *nats.Conn {
		t.Helper()
		if failed == nil {
			failed = func(_ *nats.Conn, _ *nats.Subscription, err error) { t.Errorf("%s: %v", name, err) }
		}
		c, err := nats.Connect("", nats.InProcessServer(s), nats.UserInfo(name, name), nats.ErrorHandler(failed))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
}
