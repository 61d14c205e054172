//go:build unix

package shared

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/pgstore"
)

// cronEnv is set to the URL of a store: this process is a job that a timer starts.
const cronEnv = "POSTHOUSE_E2E_CRON"

// job opens the store and the program of a job. first is the program's first step.
func job(ctx context.Context, at string, first func(context.Context) (int, error)) (*flow.App[int, int], func(), error) {
	s, err := pgstore.Open(ctx, at, nil)
	if err != nil {
		return nil, nil, err
	}
	l, err := ledger.Open(s, nil)
	if err != nil {
		return nil, nil, err
	}
	app, err := flow.New("job", func(ctx context.Context, in int) (int, error) {
		n, err := step.Do(ctx, "first", first)
		return in + n, err
	}).Open(l, nil)
	return app, func() { _ = l.Close(); _ = s.Close() }, err
}

// lostJob runs the job's first step until it is killed.
func lostJob(at string) error {
	app, _, err := job(context.Background(), at, func(context.Context) (int, error) {
		fmt.Println("begun")
		select {}
	})
	if err == nil {
		_, err = app.Run(context.Background(), "t", 40)
	}
	return err
}

// TestAJobTakesOver from a process that was killed, though the job runs for seconds only: the
// error says how long to wait for the thread, and who waits so long gets it.
func TestAJobTakesOver(t *testing.T) {
	at := pgtest.URL(t) + "&schema=cron"
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), cronEnv+"="+at)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said string
	if _, err := fmt.Fscanln(out, &said); err != nil || said != "begun" {
		t.Fatalf("said %v, error %v", said, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed

	run := func(wait time.Duration) (*flow.Result[int], error) {
		app, end, err := job(t.Context(), at, func(context.Context) (int, error) { return 2, nil })
		if err != nil {
			t.Fatal(err)
		}
		defer end() // each is a process that was just started, and knows nothing of the other
		return app.Resume(t.Context(), "t", flow.RunOptions{Wait: wait})
	}
	var busy *posthouse.Error
	for range 3 {
		if _, err := run(0); !errors.As(err, &busy) || busy.Code != posthouse.CodeBusy || busy.Wait < 3*time.Second || busy.Wait > 5*time.Second {
			t.Fatalf("without a wait: %v", err)
		}
	}
	if _, err := run(100 * time.Millisecond); !errors.Is(err, posthouse.ErrBusy) {
		t.Errorf("a wait that is too short: %v", err)
	}
	r, err := run(busy.Wait)
	if err != nil || r.Output != 42 {
		t.Errorf("%+v, %v", r, err)
	}
}
