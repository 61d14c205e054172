package outline

import (
	"encoding/json"
	"net/http"

	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/usage"
)

var usageExample = json.RawMessage(`{"calls":2,"inputTokens":1624,"outputTokens":192,"costs":[{"amount":"0.0084","unit":"USD"}],` +
	`"models":[{"model":"model-1","calls":2,"inputTokens":1624,"outputTokens":192,"costs":[{"amount":"0.0084","unit":"USD"}]}]}`)

func (o *Outline) usage(w http.ResponseWriter, r *api.Request) error {
	u, err := usage.Of(r.Context(), o.ledger, r.Name("id"))
	if err != nil {
		return err
	}
	return api.WriteJSON(w, http.StatusOK, u)
}
