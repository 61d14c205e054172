package strictjson_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/strictjson"
)

type inner struct {
	Deep string `json:"deep"`
}

type outer struct {
	inner
	By   string            `json:"by"`
	At   time.Time         `json:"at"`
	Raw  json.RawMessage   `json:"raw"`
	Ptr  *inner            `json:"ptr"`
	List []*inner          `json:"list"`
	Map  map[string]inner  `json:"map"`
	Free map[string]string `json:"free"`
	None string            `json:"-"`
}

// TestUnknownNames: names are exact at every depth that a type describes.
func TestUnknownNames(t *testing.T) {
	for data, want := range map[string]string{
		`{"by":"x","deep":"y","at":"2020-01-01T00:00:00Z","raw":{"BY":1},"ptr":{"deep":"z"},"list":[{"deep":""},null],"map":{"X":{"deep":""}},"free":{"Deep":""}}`: "",
		`{"By":"x"}`:               "By",
		`{"Deep":"x"}`:             "Deep",
		`{"ptr":{"Deep":"x"}}`:     "Deep",
		`{"ptr":null}`:             "",
		`{"list":[{"DEEP":""}]}`:   "DEEP",
		`{"map":{"x":{"dEep":1}}}`: "dEep",
		`{"None":"x"}`:             "None",
		`[]`:                       "",
	} {
		if name, unknown := strictjson.Unknown([]byte(data), reflect.TypeFor[*outer]()); name != want || unknown != (want != "") {
			t.Errorf("%s: %q, %v; want %q", data, name, unknown, want)
		}
	}
}
