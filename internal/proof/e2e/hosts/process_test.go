//go:build linux

package hosts

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/httptask"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/task/natslink"
	"github.com/posthouse/posthouse/worker"
)

// roleEnv says what a process of the test binary is, settingsEnv how.
const (
	roleEnv     = "POSTHOUSE_HOSTS_ROLE"
	settingsEnv = "POSTHOUSE_HOSTS_SETTINGS"
)

// Settings are what a process is told.
type settings struct {
	Dir, Witness  string // the engine's data, and the file that handlers write to
	CA, Cert, Key string
	Name          string // of a worker
	Over          string // nats or http
	Engine, Token string
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		goleak.VerifyTestMain(pgtest.Main(m))
		return
	}
	var s settings
	err := json.Unmarshal([]byte(os.Getenv(settingsEnv)), &s)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	switch {
	case err != nil:
	case role == "engine":
		err = s.serve(ctx)
	default:
		err = s.work(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve is an engine: it begins a thread for each line on standard input, and prints when it is
// done, with the time.
func (s *settings) serve(ctx context.Context) error {
	var jobs *flow.App[string, string]
	o := &app.Options{
		Dir: s.Dir, Addr: address(0) + ":8443", CertFile: s.Cert, KeyFile: s.Key,
		Link: &link.Options{Listen: address(0) + ":4222", Cert: s.Cert, Key: s.Key}, AllowedHosts: []string{address(0)},
	}
	o.Programs.OpenLink = natslink.Open
	o.Programs.Open = func(_ context.Context, env *app.Env) (_ *app.Set, err error) {
		jobs, err = flow.New("jobs", func(ctx context.Context, name string) (string, error) {
			return step.RemoteWith[string](ctx, "work", "work", name, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 10}}})
		}).Open(env.Ledger, nil)
		return &app.Set{Programs: []posthouse.Program{jobs}}, err
	}
	var group sync.WaitGroup
	o.Ready = func(i *app.Info) {
		fmt.Println("ready")
		group.Go(func() {
			for in := bufio.NewScanner(os.Stdin); in.Scan(); {
				thread := in.Text()
				if _, err := jobs.Run(ctx, thread, thread); err != nil {
					fmt.Println("error", thread, err)
					continue
				}
				group.Go(func() { fmt.Println(await(ctx, i.Ledger, thread)) })
			}
		})
	}
	return app.Serve(ctx, o)
}

// await waits for the end of a thread, and returns the line about it.
func await(ctx context.Context, l *ledger.Ledger, thread string) string {
	for ev, err := range l.Watch(ctx, ledger.WatchQuery{Thread: thread}) {
		if err != nil {
			return fmt.Sprint("error ", thread, " ", err)
		}
		if ev.Checkpoint == nil || ev.Checkpoint.Status != posthouse.StatusDone {
			continue
		}
		return fmt.Sprint("done ", thread, " ", time.Now().UnixNano())
	}
	return "error " + thread + " the watch ended"
}

// work is a worker. Its handler writes to the witness when it begins, completes, and ends for
// another reason. The first attempt of a task with a name that begins with hold goes on until
// it is cut off, and then completes the task all the same.
func (s *settings) work(ctx context.Context) error {
	engine, err := s.engine(ctx)
	if err != nil {
		return err
	}
	w, err := worker.New(engine, &worker.Options{Name: s.Name, Concurrency: 4, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	w.HandleFunc("work", func(t worker.Task) error {
		var name string
		if err := json.Unmarshal(t.Input(), &name); err != nil {
			return err
		}
		if err := s.witness("begin", name); err != nil {
			return err
		}
		if strings.HasPrefix(name, "hold") && t.Attempt() == 1 {
			<-t.Context().Done()
			if err := s.witness("stop", name); err != nil {
				return err
			}
			if err := t.Complete("late"); err == nil {
				return s.witness("late", name)
			}
			return context.Cause(t.Context())
		}
		if err := t.Complete(s.Name); err != nil {
			return err
		}
		return s.witness("complete", name)
	})
	fmt.Println("ready")
	return w.Run(ctx)
}

func (s *settings) engine(ctx context.Context) (task.Engine, error) {
	if s.Over == "nats" {
		l, err := natslink.Open(ctx, &link.Options{URL: "tls://" + s.Engine + ":4222", Token: s.Token, CA: s.CA})
		if err != nil {
			return nil, err
		}
		return l.Engine() // the link lasts as long as the process
	}
	pem, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return httptask.NewEngine("https://"+s.Engine+":8443", s.Token, &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
	}})
}

// witness writes a line that says what happened when. One write is one line.
func (s *settings) witness(what, name string) error {
	f, err := os.OpenFile(s.Witness, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, time.Now().UnixNano(), what, name, s.Name)
	return err
}
