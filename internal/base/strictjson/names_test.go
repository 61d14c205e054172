package strictjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/base/strictjson"
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

type tree struct {
	Kids []*tree          `json:"kids"`
	By   map[string]*tree `json:"by"`
	Text string           `json:"text"`
	Self itself           `json:"self"`
}

type itself []itself

// deep returns a tree of a depth, and about a size.
func deep(depth, size int) []byte {
	text := fmt.Sprintf(`"text":%q,`, strings.Repeat("x", size/depth))
	at, end := strings.Repeat(`{`+text+`"kids":[{`+text+`"by":{"a":`, depth/2), strings.Repeat(`}}]}`, depth/2)
	return []byte(at + `{"self":[[],[[]]]}` + end)
}

// Each byte is read a few times, however deep the data nests, and a name in its depth is found.
func TestUnknownNamesAreFoundInOnePass(t *testing.T) {
	typ := reflect.TypeFor[tree]()
	for _, depth := range []int{2, 100, 2000} {
		data := deep(depth, 100_000)
		if !json.Valid(data) {
			t.Fatalf("%.100s is not valid", data)
		}
		if name, unknown := strictjson.Unknown(data, typ); unknown {
			t.Errorf("depth %d: %q is unknown", depth, name)
		}
		if n := strictjson.ReadBy(data, typ); n > 3*len(data) {
			t.Errorf("depth %d: %d bytes are read of %d", depth, n, len(data))
		}
		bad := bytes.Replace(data, []byte(`"self"`), []byte(`"selF"`), 1)
		if name, _ := strictjson.Unknown(bad, typ); name != "selF" {
			t.Errorf("depth %d: the unknown name is %q", depth, name)
		}
	}
	for data, want := range map[string]string{
		` { "te\u0078t" : "}" , "kids" : [ null , { "Text" : 1 } ] } `: "Text", `{"kids":{"x":1},"text":[{"a":"b"}],"by":[1]}`: "",
		`{"text":"\"","Text":1}`: "Text", `{"self":[[{"a":1}],[]]}`: "", `"x"`: "", `null`: "", ``: "", `{`: "", `{"kids":[`: "",
	} {
		if name, unknown := strictjson.Unknown([]byte(data), typ); name != want || unknown != (want != "") {
			t.Errorf("%s: %q, %v; want %q", data, name, unknown, want)
		}
	}
}

func BenchmarkUnknown(b *testing.B) {
	data := deep(1000, 1<<20)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		strictjson.Unknown(data, reflect.TypeFor[tree]())
	}
}
