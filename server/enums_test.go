package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
)

// open are the parameters with a name of enums that take any text, each with its reason.
var openEnums = map[string]string{
	"GET /api/gates kind":                   "programs ask questions of kinds of their own",
	"GET /api/checkpoints state":            "whether states are listed",
	"GET /api/checkpoints/{id} state":       "whether the state is there",
	"POST /api/checkpoints/{id}/fork state": "a state",
}

// TestEveryFilterNamesItsValues: a value that a filter of a few values does not have is refused by the name of the
// field and with those that it has. It never answers as if the filter were not there, or found nothing.
func TestEveryFilterNamesItsValues(t *testing.T) {
	h := open(t, nil)
	names := []string{"kind", "status", "state", "order", "mode", "snoozed", "format", "frames", "values"}
	seen := 0
	for _, r := range h.server.routes {
		for _, p := range r.Query {
			name := r.Method + " " + r.Path
			if p.Kind != api.EnumParam {
				if slices.Contains(names, p.Name) && p.Kind != api.BoolParam && openEnums[name+" "+p.Name] == "" {
					t.Errorf("%s takes any text as %s", name, p.Name)
				}
				continue
			}
			seen++
			for _, bad := range []string{"UNKNOWN", strings.ToUpper(p.Values[0]), p.Values[0] + " "} {
				wrong := p.Check(bad)
				if !strings.Contains(errorText(wrong), p.Name+" ") || !strings.Contains(errorText(wrong), strings.Join(p.Values, ", ")) {
					t.Errorf("%s refuses %s=%s with %v", name, p.Name, bad, wrong)
				}
			}
			if r.Method != http.MethodGet || strings.Contains(r.Path, "{") {
				continue
			}
			d := h.get(r.Path + "?" + p.Name + "=UNKNOWN").refused(posthouse.CodeInvalid)
			if d.Field != p.Name || d.Status != http.StatusBadRequest || !strings.Contains(d.Detail, strings.Join(p.Values, ", ")) {
				t.Errorf("%s answers %s=UNKNOWN with %+v", name, p.Name, d)
			}
		}
	}
	if seen < 20 {
		t.Errorf("there are %d filters of a few values", seen)
	}
	d := h.post("/api/bulk/resume", `{"status":"UNKNOWN","dryRun":true}`).refused(posthouse.CodeInvalid)
	if d.Field != "status" || !strings.Contains(d.Detail, "running, waiting, ready, interrupted, done, failed, cancelled") {
		t.Errorf("in bulk it is %+v", d)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
