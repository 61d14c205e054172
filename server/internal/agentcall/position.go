package agentcall

import (
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
)

// Headers that name a request to an agent. Atmosphere's clients send the second.
const (
	RunHeader           = "X-Posthouse-Run"
	AtmosphereRunHeader = "X-Atmosphere-Run-Id"
)

// The parameters that name a request, and the last event that its client has.
const (
	RunParam   = "run"
	afterParam = "after"
)

// PositionParams are the parameters that [PositionOf] reads.
func PositionParams() []api.Param {
	return []api.Param{
		{Name: RunParam, Kind: api.NameParam, Help: "the request to take up again, as the header " + RunHeader + " of its answer names it, or the thread it works on"},
		{Name: AtmosphereRunHeader, Kind: api.NameParam, Help: "the same, for clients that cannot set headers"},
		{Name: afterParam, Kind: api.TextParam, Help: "the id of the last event that was seen, as in the header Last-Event-ID, which goes before it; default: from the first that is kept"},
	}
}

// A Position is where in a request a client was.
type Position struct {
	Run   string // the request, or its thread; "" if the client does not say
	Event string // the request that the last event belongs to
	After uint64 // that event's number
}

// PositionOf reads the position that a client sends.
func PositionOf(r *api.Request) (p Position, err error) {
	p.Run = r.Query[RunParam]
	if r.Has(AtmosphereRunHeader) {
		p.Run = r.Query[AtmosphereRunHeader]
	}
	for _, name := range []string{AtmosphereRunHeader, RunHeader} {
		if vs := r.Header.Values(name); len(vs) > 0 {
			p.Run = vs[0]
			if posthouse.ValidateName(RunParam, p.Run) != nil {
				return p, posthouse.Invalid(name, "%.80q is no id", p.Run)
			}
		}
	}
	field, at := "Last-Event-ID", r.Header.Get("Last-Event-ID")
	if at == "" {
		field, at = afterParam, r.Query[afterParam]
	}
	if at == "" {
		return p, nil
	}
	run, n, ok := strings.Cut(at, "/")
	p.After, err = strconv.ParseUint(n, 10, 64)
	if !ok || err != nil || posthouse.ID(run).Validate() != nil {
		return p, posthouse.Invalid(field, "%.80q is not the id of an event of a request: RUN/NUMBER", at)
	}
	p.Event = run
	return p, nil
}
