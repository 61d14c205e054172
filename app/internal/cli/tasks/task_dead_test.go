package tasks_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/natslink"
)

// TestDeadLettersOfAServer over servers with JetStream: what is no request and no hint is
// listed with the reason, a hint is sent again, and the rest is taken out. A task goes to the
// queue that engines share.
func TestDeadLettersOfAServer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	e := clitest.New(t)
	var counts *flow.App[string, int]
	var served clitest.Buffer
	e.Config = cli.Config{Programs: clitest.Counting(&counts), OpenLink: natslink.Open}
	h, stop := e.Live(&served, "--ephemeral", "--nats", s.ClientURL())
	defer stop()
	dead := func(code int, args ...string) string {
		return e.Run(code, append(append([]string{"task", "dead"}, args...), "--server", h.URL)...)
	}

	if _, err := counts.Run(t.Context(), "t1", "one two"); err != nil {
		t.Fatal(err)
	}
	e.Run(0, "token", "create", "--name", "x", "--role", "worker", "--out", filepath.Join(e.Path, "x.token"))
	answers, err := conn.SubscribeSync("posthouse.answer.x.>")
	if err != nil {
		t.Fatal(err)
	}
	send := func(subject, body, want string) {
		t.Helper()
		for deadline := time.After(time.Minute); ; {
			m, err := &nats.Msg{}, error(nil)
			if strings.HasPrefix(subject, "posthouse.task.x.") { // answered below its own name only
				err = conn.PublishRequest(subject, "posthouse.answer.x.1", []byte(body))
				if err == nil {
					m, err = answers.NextMsg(time.Second)
				}
			} else {
				m, err = conn.Request(subject, []byte(body), time.Second)
			}
			if err == nil && strings.Contains(string(m.Data), want) {
				return
			}
			select {
			case <-deadline:
				t.Fatalf("%s is answered %+v, %v", subject, m, err)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	send("posthouse.task.x.any.connect", "{", `"invalid"`)
	send("posthouse.hint.words.=.gate-x", `{"gate":"gate-x","thread":"t","task":"words","more":1}`, `"posthouse-hints"`)
	send("$JS.API.STREAM.INFO.posthouse-hints", "", `"messages":2`) // the task's, and that
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	working := make(chan int, 1)
	go func() {
		working <- e.Start(ctx, &served, "worker", "--plain", "--task", "words=wc -w", "--name", "x", "--nats", s.ClientURL())
	}()
	send("$JS.API.STREAM.INFO.posthouse-hints", "", `"messages":0`)
	send("$JS.API.STREAM.INFO.posthouse-dead", "", `"messages":2`)

	var all []deadletter.Letter
	err = json.Unmarshal([]byte(dead(0, "list", "--json")), &all)
	slices.SortFunc(all, func(a, b deadletter.Letter) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	if err != nil || len(all) != 2 || all[0].Kind != deadletter.Hint || all[1].Kind != deadletter.Request {
		t.Fatalf("all %+v, error %v", all, err)
	}
	if out := dead(0, "list"); !strings.Contains(out, all[0].Reason[:40]) || !strings.Contains(out, "posthouse.task.x.any.connect") {
		t.Error(out)
	}
	if out := dead(1, "replay", all[1].ID); !strings.Contains(out, "its sender was answered") {
		t.Error(out)
	}
	if out := dead(0, "replay", all[0].ID); !strings.Contains(out, "is sent again") {
		t.Error(out)
	}
	send("$JS.API.STREAM.INFO.posthouse-dead", "", `"last_seq":3`) // it is no better
	if out := dead(0, "purge", "--dry-run"); !strings.Contains(out, "would be taken out: "+strconv.Itoa(len(all))+" letter") {
		t.Errorf("purge --dry-run says %q", out)
	}
	if out := dead(3, "purge", "none", "--dry-run"); !strings.Contains(out, "no dead letter none") {
		t.Errorf("purge --dry-run of an unknown letter says %q", out)
	}
	if out := dead(0, "purge", all[1].ID, "--yes"); !strings.Contains(out, "is gone") {
		t.Error(out)
	}
	if out := dead(0, "purge", "--yes", "--json"); !strings.Contains(out, `"purged": 1`) {
		t.Error(out)
	}
	if out := dead(0, "list"); !strings.Contains(out, "there is no dead letter") {
		t.Error(out)
	}
	cancel()
	if code := <-working; code != 0 {
		t.Errorf("exit code %d\n%s", code, served.String())
	}
}
