package idempotency

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

// Serve has handle answer a request, once for each key of the principal: what it answers with 2xx
// is what the request gets each time it is sent. A request without a key is handled as it comes.
func (k *Keys) Serve(w http.ResponseWriter, r *api.Request, principal string, handle api.Handler) error {
	key, err := Key(r)
	if err != nil {
		return err
	}
	if key == "" {
		return handle(w, r)
	}
	sent, err := sentBy(r)
	if err != nil {
		return err
	}
	q, a, err := k.Begin(r.Context(), &Intent{Principal: principal, Key: key, Sent: sent})
	if err != nil {
		return err
	}
	if a != nil {
		a.Write(w)
		return nil
	}
	r.Reserved = q.Reserved
	if q.Again {
		w.Header().Set(api.ReplayedHeader, "true")
	}
	return q.serve(w, r, handle)
}

// serve handles the request, and puts on record what became of it before the answer goes out.
func (q *Request) serve(w http.ResponseWriter, r *api.Request, handle api.Handler) (err error) {
	held := api.HoldBack(w)
	stop := q.hold()
	status := http.StatusInternalServerError // of a panic
	defer func() {
		stop()
		if status >= 200 && status <= 299 {
			// The act is done. Where its answer cannot be kept it is given all the same, and the
			// handler finds the act if the request is sent again.
			_ = q.Keep(r.Context(), NewAnswer(status, w.Header(), held.Body))
		} else {
			_ = q.End(r.Context(), status) // without it, the request is open once it is held no more
		}
		held.Send(w)
	}()
	err = handle(w, r)
	if err != nil {
		held.Status, held.Body = 0, nil
		status = problem.Status(problem.Client(err).Code)
		return err
	}
	status = held.Status
	return nil
}

// hold holds the request while it runs. stop returns once nothing renews it any more.
func (q *Request) hold() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = q.renew(ctx) // the next one may do; without any the request is free for another attempt
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// sentBy returns all that makes a request what it is. The body can be read again.
func sentBy(r *api.Request) ([]string, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if problem.Client(err).Code == problem.CodeInternal {
			return nil, posthouse.Invalid("body", "could not be read")
		}
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return []string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("Content-Type"), r.Header.Get("If-Match"), string(body)}, nil
}
