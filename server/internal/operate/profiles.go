package operate

import (
	"context"
	"net/http"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// Profiles is /debug/pprof/, where go tool pprof and go tool trace read. It is served only where
// it was asked for: profiles slow a process down, and dumps of goroutines show what it works on.
// Unlike net/http/pprof it adds nothing to the default mux of other servers in the process.
type Profiles struct{}

// What a request may ask for.
const (
	maxProfileSeconds = 60
	profileSeconds    = "30"
)

// Routes are the lines of the table.
func (Profiles) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodGet, Path: "/debug/pprof/{name}", Role: tokens.Operator, Style: api.Asset, Summary: "A profile of this process", Handle: profile,
		Notes: "By Go's names: allocs, block, goroutine, heap, mutex, threadcreate. The names profile (the processor) and trace watch the process " +
			"for some seconds, one request at a time. The path exists only where the server was started with --pprof.",
		Query: []api.Param{
			{Name: "seconds", Kind: api.IntParam, Max: maxProfileSeconds, Def: profileSeconds, Help: "how long profile and trace watch"},
			{Name: "debug", Kind: api.EnumParam, Values: []string{"0", "1", "2"}, Def: "0", Help: "above 0: text for people"},
		},
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the profile", Body: nil, Media: "application/octet-stream"}},
	}}
}

func profile(w http.ResponseWriter, r *api.Request) error {
	name := r.Name("name")
	w.Header().Set("Content-Type", "application/octet-stream")
	watch := time.Duration(r.Number("seconds", 30)) * time.Second
	switch name {
	case "profile":
		if err := pprof.StartCPUProfile(w); err != nil {
			return errWatched(err)
		}
		defer pprof.StopCPUProfile()
		wait(r.Context(), watch)
		return nil
	case "trace":
		if err := trace.Start(w); err != nil {
			return errWatched(err)
		}
		defer trace.Stop()
		wait(r.Context(), watch)
		return nil
	}
	p := pprof.Lookup(name)
	if p == nil {
		return &posthouse.Error{
			Code: posthouse.CodeNotFound, Field: "name", Message: "is no profile",
			Hint: "there are allocs, block, goroutine, heap, mutex, profile, threadcreate and trace",
		}
	}
	debug := r.Number("debug", 0)
	if debug > 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	if name == "heap" {
		runtime.GC() // the profile is of what the last collection left
	}
	_ = p.WriteTo(w, debug) // the client may be gone
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func errWatched(err error) error {
	return &posthouse.Error{Code: posthouse.CodeLocked, Message: "the process is being watched already", Err: err, Hint: "try again in a minute"}
}
