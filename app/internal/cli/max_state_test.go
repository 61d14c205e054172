package cli_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
)

// TestMaxState serves with a smaller limit than the default, and with a larger.
func TestMaxState(t *testing.T) {
	e := clitest.New(t)
	save := func(r *host.Host, n int) error {
		state, err := posthouse.Opaque(posthouse.Raw, strings.Repeat("x", n))
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Ledger.Save(t.Context(), posthouse.Root("order-1", state), nil)
		return err
	}
	// post sends a body of n bytes to a path that takes a state.
	post := func(r *host.Host, n int) int {
		token, err := datadir.ReadToken(r.TokenFile)
		if err != nil {
			t.Fatal(err)
		}
		hs := r.Server.HTTPServer(r.Listener.Addr().String())
		go func() { _ = hs.Serve(r.Listener) }()
		defer hs.Close()
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.URL+"/api/checkpoints/x/fork", bytes.NewReader([]byte(`{"state":"`+strings.Repeat("x", n)+`"}`)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if err := e.Serve([]string{"--max-state", "1000", "--ephemeral"}, func(r *host.Host) {
		err := save(r, 1001)
		var told *posthouse.Error
		if !errors.As(err, &told) || told.Code != posthouse.CodeTooLarge || !strings.Contains(told.Hint, "posthouse serve --max-state") {
			t.Errorf("over the limit: %+v", err)
		}
		if code := post(r, 2<<20); code != http.StatusRequestEntityTooLarge {
			t.Errorf("a body over the limit is answered %d", code)
		}
	}); err != nil {
		t.Error(err)
	}
	if err := e.Serve([]string{"--max-state", "10MiB", "--ephemeral"}, func(r *host.Host) {
		if err := save(r, 9<<20); err != nil {
			t.Errorf("below a raised limit: %v", err)
		}
		if code := post(r, 14<<20); code != http.StatusNotFound {
			t.Errorf("a body below a raised limit is answered %d", code)
		}
	}); err != nil {
		t.Error(err)
	}
}
