package jsontype_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/base/strictjson"
	"github.com/posthouse/posthouse/internal/jsontype"
)

type address struct {
	Street string `json:"street" doc:"street and number"`
	City   string `json:"city,omitempty"`
}

type line struct {
	Item  string      `json:"item" doc:"what is ordered, as in <lamp>"`
	Count int16       `json:"count"`
	Price float64     `json:"price"`
	Exact json.Number `json:"exact"`
}

type tree struct {
	Name string
	Of   *tree  `doc:"the tree above"`
	Kids []tree `json:"kids"`
}

type forest []forest

type base struct {
	Note *string `doc:"for the packers"`
}

type parcel struct {
	base
	To, From address
	Lines    []line             `json:"lines" doc:"at least one"`
	Tags     map[string]bool    `json:"tags"`
	Due      *time.Time         `json:"due" doc:"when it must be there"`
	Wait     time.Duration      `json:"wait"`
	Photo    []byte             `json:"photo"`
	Free     any                `json:"free"`
	Raw      json.RawMessage    `json:"raw"`
	Size     [2]uint8           `json:"size"`
	Number   int64              `json:"number,string"`
	Tree     *tree              `json:"tree"`
	Forest   forest             `json:"forest"`
	Back     *address           `json:"back" doc:"where it goes if it is not taken"`
	Anon     struct{ X, Y int } `json:"anon"`
	hidden   int
	Skipped  int `json:"-"`
}

// TestSchema compares the schema of a type with one of each form of field, member by member.
func TestSchema(t *testing.T) {
	_ = parcel{}.hidden
	got := string((&jsontype.Schemer{}).Schema(reflect.TypeFor[parcel]()))
	const want = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` +
		`"Note":{"type":["string","null"],"description":"for the packers"},` +
		`"To":{"$ref":"#/$defs/address"},` +
		`"From":{"$ref":"#/$defs/address"},` +
		`"lines":{"type":["array","null"],"items":{"type":"object","properties":{` +
		`"item":{"type":"string","description":"what is ordered, as in <lamp>"},` +
		`"count":{"type":"integer","minimum":-32768,"maximum":32767},` +
		`"price":{"type":"number"},` +
		`"exact":{"type":"number"}},"additionalProperties":false},"description":"at least one"},` +
		`"tags":{"type":["object","null"],"additionalProperties":{"type":"boolean"}},` +
		`"due":{"type":["string","null"],"format":"date-time","description":"when it must be there"},` +
		`"wait":{"type":"integer","description":"nanoseconds"},` +
		`"photo":{"type":["string","null"],"contentEncoding":"base64"},` +
		`"free":{},` +
		`"raw":{},` +
		`"size":{"type":"array","items":{"type":"integer","minimum":0,"maximum":255}},` +
		`"number":{"type":"string"},` +
		`"tree":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]},` +
		`"forest":{"$ref":"#/$defs/forest"},` +
		`"back":{"anyOf":[{"$ref":"#/$defs/address"},{"type":"null"}],"description":"where it goes if it is not taken"},` +
		`"anon":{"type":"object","properties":{"X":{"type":"integer","format":"int64"},"Y":{"type":"integer","format":"int64"}},"additionalProperties":false}` +
		`},"additionalProperties":false,"$defs":{` +
		`"address":{"type":"object","properties":{"street":{"type":"string","description":"street and number"},"city":{"type":"string"}},"additionalProperties":false},` +
		`"tree":{"type":"object","properties":{"Name":{"type":"string"},` +
		`"Of":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}],"description":"the tree above"},` +
		`"kids":{"type":["array","null"],"items":{"$ref":"#/$defs/tree"}}},"additionalProperties":false},` +
		`"forest":{"type":["array","null"],"items":{"$ref":"#/$defs/forest"}}}}`
	if got != want {
		t.Errorf("the schema is\n%s\nwant\n%s", strings.ReplaceAll(got, `},"`, "},\n\""), strings.ReplaceAll(want, `},"`, "},\n\""))
	}
}

// TestSchemaTakesWhatFits checks values by the schema and by strictjson.Fit: both take the same.
func TestSchemaTakesWhatFits(t *testing.T) {
	of := reflect.TypeFor[parcel]()
	schema := (&jsontype.Schemer{}).Schema(of)
	judge := gate.Validator()
	for data, fits := range map[string]bool{
		`{}`:                            true,
		`{"Note":null}`:                 true,
		`{"note":1}`:                    false,
		`{"lines":[{}]}`:                true,
		`{"lines":[{"x":1}]}`:           false,
		`{"lines":null}`:                true,
		`{"lines":{}}`:                  false,
		`{"lines":[{"count":40000}]}`:   false,
		`{"lines":[{"count":1.5}]}`:     false,
		`{"To":null}`:                   false,
		`{"To":{"street":"1"}}`:         true,
		`{"back":null}`:                 true,
		`{"back":{"street":1}}`:         false,
		`{"free":[1,{}],"raw":{"x":1}}`: true,
		`{"size":[1,256]}`:              false,
		`{"number":"5"}`:                true,
		`{"number":5}`:                  false,
		`{"tree":{"Name":"a","Of":{"Name":"b"},"kids":[{"kids":[]}]}}`: true,
		`{"tree":{"kids":[{"kids":[1]}]}}`:                             false,
		`{"forest":[[],[[]]]}`:                                         true,
		`{"forest":[1]}`:                                               false,
		`{"photo":"AAE="}`:                                             true,
		`{"photo":[0]}`:                                                false,
		`{"anon":{"X":1}}`:                                             true,
		`{"Skipped":1}`:                                                false,
		`[]`:                                                           false,
		`null`:                                                         false,
	} {
		path, reason := strictjson.Fit([]byte(data), of)
		if byFit := reason == ""; byFit != fits {
			t.Errorf("Fit of %s: %s %s, want fits %v", data, path, reason, fits)
		}
		if err := judge(schema, json.RawMessage(data)); (err == nil) != fits {
			t.Errorf("the schema judges %s: %v, want fits %v", data, err, fits)
		}
	}
}

// TestSchemaOfAnObject describes members that no struct has, and a type that hides its JSON.
func TestSchemaOfAnObject(t *testing.T) {
	type log struct{ items []string }
	s := &jsontype.Schemer{Inside: func(t reflect.Type) reflect.Type {
		if t == reflect.TypeFor[log]() {
			return reflect.TypeFor[[]string]()
		}
		return nil
	}}
	_ = log{}.items
	got := string(s.Object([]jsontype.Member{{Name: "b", Doc: "the second", Type: reflect.TypeFor[log]()}, {Name: "a", Type: reflect.TypeFor[bool]()}}))
	const want = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` +
		`"b":{"type":["array","null"],"items":{"type":"string"},"description":"the second"},"a":{"type":"boolean"}},"additionalProperties":false}`
	if got != want {
		t.Errorf("the schema is\n%s\nwant\n%s", got, want)
	}
	type loop *loop
	type inside struct {
		*inside
		N int8
	}
	_ = inside{}.inside
	for of, want := range map[reflect.Type]string{
		reflect.TypeFor[loop]():   `}`,
		reflect.TypeFor[inside](): `,"type":"object","properties":{"N":{"type":"integer","minimum":-128,"maximum":127}},"additionalProperties":false}`,
	} {
		if got := string((&jsontype.Schemer{}).Schema(of)); got != `{"$schema":"https://json-schema.org/draft/2020-12/schema"`+want {
			t.Errorf("%s, which holds itself, has the schema %s", of, got)
		}
	}
	if got := string((&jsontype.Schemer{}).Schema(reflect.TypeFor[any]())); got != `{"$schema":"https://json-schema.org/draft/2020-12/schema"}` {
		t.Errorf("any JSON has the schema %s", got)
	}
}
