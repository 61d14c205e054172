package verbatim

import (
	"encoding/base64"
	"encoding/json"

	"github.com/posthouse/posthouse"
)

// Show returns a value as JSON: as it is if it is JSON, else as base64. Plain says which.
func Show(v posthouse.Value) (raw json.RawMessage, plain bool) {
	if v.Codec == posthouse.JSON.Name() && json.Valid(v.Data) {
		return v.Data, true
	}
	return json.RawMessage(`"` + base64.StdEncoding.EncodeToString(v.Data) + `"`), false
}
