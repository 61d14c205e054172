package strictjson_test

import (
	"reflect"
	"testing"

	"github.com/posthouse/posthouse/internal/base/strictjson"
)

// TestFitExact: names are exact, further members are refused unless they are let pass, and null fits
// what takes it.
func TestFitExact(t *testing.T) {
	type part struct{ N int }
	type receipt struct {
		ID    string
		Parts []part `json:"parts"`
		Note  *string
	}
	for _, c := range []struct {
		of           reflect.Type
		data         string
		fits, extras bool // without and with extra
	}{
		{reflect.TypeFor[receipt](), `{"ID":"r","parts":[{"N":1}],"Note":null}`, true, true},
		{reflect.TypeFor[receipt](), `{}`, true, true},
		{reflect.TypeFor[receipt](), `null`, false, false},
		{reflect.TypeFor[*receipt](), `null`, true, true},
		{reflect.TypeFor[receipt](), `{"ID":5}`, false, false},
		{reflect.TypeFor[receipt](), `{"id":"r"}`, false, false},
		{reflect.TypeFor[receipt](), `{"parts":[{"n":1}]}`, false, false},
		{reflect.TypeFor[receipt](), `{"Receipt":"r"}`, false, true},
		{reflect.TypeFor[receipt](), `{"ID":"r","parts":[{"N":1,"M":2}]}`, false, true},
		{reflect.TypeFor[struct{}](), `null`, true, true},
		{reflect.TypeFor[string](), `null`, false, false},
		{reflect.TypeFor[[]part](), `null`, true, true},
		{reflect.TypeFor[any](), `{"a":[null]}`, true, true},
	} {
		for extra, want := range map[bool]bool{false: c.fits, true: c.extras} {
			if path, reason := strictjson.FitExact([]byte(c.data), c.of, extra); (reason == "") != want {
				t.Errorf("%s as %s, extra %v: %s %s", c.data, c.of, extra, path, reason)
			}
		}
	}
}
