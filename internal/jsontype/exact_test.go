package jsontype_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/jsontype"
)

func TestExactNumbers(t *testing.T) {
	type mixed struct {
		ID   int64
		Any  any
		Deep map[string][]any
	}
	for data, lost := range map[string]bool{
		`{"ID":9007199254740993}`:                       false, // it has a type of its own
		`{"Any":9007199254740993}`:                      true,
		`{"Any":9007199254740992}`:                      false,
		`{"Any":1152921504606846976}`:                   false, // 2^60
		`{"Any":-9007199254740993}`:                     true,
		`{"Any":"9007199254740993"}`:                    false,
		`{"Any":"\"9007199254740993"}`:                  false,
		`{"Any":0.1}`:                                   false,
		`{"Any":0.30000000000000004}`:                   false,
		`{"Any":0.300000000000000041}`:                  true,
		`{"Any":1e21}`:                                  false,
		`{"Any":123456789012345678901234567890}`:        true,
		`{"Any":1.7976931348623157e+308}`:               false,
		`{"Any":{"a":[1,{"b":9007199254740993}]}}`:      true,
		`{"Deep":{"a":[1,9007199254740993]}}`:           true,
		`{"ID":9007199254740993,"Deep":{"a":[1,2,-0]}}`: false,
	} {
		err := jsontype.Exact("Part", reflect.TypeFor[mixed](), []byte(data))
		if (err != nil) != lost {
			t.Errorf("%s: %v", data, err)
		}
		if err != nil {
			if !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("error %v", err)
			}
		}
	}
}

func TestHoldsInterface(t *testing.T) {
	type list struct {
		Next *list
		More []list
	}
	type open struct {
		Next *open
		Any  map[string]any
	}
	for _, v := range []any{1, "", list{}, []string{}, map[string]int{}, [3]int{}} {
		if jsontype.HoldsInterface(reflect.TypeOf(v)) {
			t.Errorf("%T", v)
		}
	}
	for _, v := range []any{open{}, []any{}, map[string]any{}, struct{ X error }{}, [1]*open{}} {
		if !jsontype.HoldsInterface(reflect.TypeOf(v)) {
			t.Errorf("%T", v)
		}
	}
}
