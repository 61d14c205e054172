package proof

import (
	"net/http"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/sign"
)

// maxFaults is how many faults one page has at most.
const maxFaults = 1000

func faultKinds() (all []string) {
	for _, kind := range sign.FaultKinds() {
		all = append(all, string(kind))
	}
	return all
}

// faults lists what a verification found.
func (p *Proof) faults(w http.ResponseWriter, r *api.Request) error {
	v, err := p.found(r)
	if err != nil {
		return err
	}
	from := 0
	if c := r.Query["cursor"]; c != "" {
		from, err = strconv.Atoi(c)
		if err != nil || from < 0 {
			return posthouse.Invalid("cursor", "is not one of this list")
		}
	}
	page := api.List[sign.Fault]{Items: []sign.Fault{}}
	if v.Report == nil {
		return api.WriteList(w, r, page)
	}
	kind, limit, all := sign.FaultKind(r.Query["kind"]), r.Number("limit", 100), v.Report.Faults
	for i := from; i < len(all); i++ {
		if kind != "" && all[i].Kind != kind {
			continue
		}
		if len(page.Items) == limit {
			page.Next = strconv.Itoa(i)
			break
		}
		page.Items = append(page.Items, all[i])
	}
	return api.WriteList(w, r, page)
}
