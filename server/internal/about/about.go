package about

import (
	"net/http"

	"github.com/posthouse/posthouse/internal/base/build"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// About is the resource. Make it with [New].
type About struct {
	OpenAPI []byte // made of all routes, once they are known

	ledger  *ledger.Ledger
	version versionBody
}

// New returns what a server tells of itself. Demo says that what is in the store was made up.
func New(l *ledger.Ledger, name string, demo bool, binary build.Info) *About {
	return &About{ledger: l, version: versionBody{name, api.Version, demo, binary}}
}

// Routes are the lines of the table.
func (ab *About) Routes() []*api.Route {
	return []*api.Route{
		{
			Method: http.MethodGet, Path: "/api/encryption", Role: tokens.Viewer, Summary: "How is stored data protected?", Handle: api.Show(ab.getEncryption),
			Notes:   "The encryption and signing keys used for new entries. Each thread's summary says whether it is sealed.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "how stored data is encrypted and signed", Body: ledger.EncryptionStatus{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: "/api/me", Role: tokens.Viewer, Summary: "Who am I?", Handle: api.Show(ab.getMe),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the token that was sent, or stands behind the cookie", Body: meBody{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: "/openapi.json", Summary: "This description", Handle: ab.getOpenAPI,
			Answers: []api.Answer{{Status: http.StatusOK, Help: "OpenAPI 3.1", Body: nil, Media: "application/json"}},
		},
		{
			Method: http.MethodGet, Path: VersionPath, Summary: "Which version is this?", Handle: api.Show(ab.getVersion),
			Notes:   "It needs no token and answers for every Host, as the probes do: it tells no more than this description and the source of the program.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the binary, and what it was built from", Body: versionBody{}, Media: ""}},
		},
	}
}

// VersionPath is where the version is, for whoever rolls one out.
const VersionPath = "/version"

type versionBody struct {
	Name string `json:"name" doc:"of the binary"`
	API  string `json:"api" doc:"version of the paths below /api; a change that breaks clients would get paths below /api/v2"`
	Demo bool   `json:"demo,omitempty" doc:"the store was filled with a past to look at, and is gone when the server ends"`
	build.Info
}

func (ab *About) getVersion(*api.Request) (versionBody, error) { return ab.version, nil }

type meBody struct {
	Name string      `json:"name"`
	Role tokens.Role `json:"role" doc:"viewer, approver, operator or worker"`
}

func (ab *About) getMe(r *api.Request) (meBody, error) {
	return meBody{r.Actor.Name, r.Actor.Role}, nil
}

func (ab *About) getEncryption(*api.Request) (ledger.EncryptionStatus, error) {
	return ab.ledger.EncryptionStatus(), nil
}

func (ab *About) getOpenAPI(w http.ResponseWriter, _ *api.Request) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(ab.OpenAPI) // the client may be gone
	return nil
}
