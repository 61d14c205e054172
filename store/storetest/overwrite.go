package storetest

import (
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
)

// Overwrite changes all that can be reached from v: bytes, numbers and text
// behind pointers and in slices and maps, and bytes in spare room. A claim is left alone, being a handle.
func Overwrite(v any) { overwriteAll(reflect.ValueOf(v), map[any]bool{}) }

func overwriteAll(v reflect.Value, seen map[any]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if _, handle := v.Interface().(*posthouse.Claim); v.IsNil() || handle || seen[v.Interface()] {
			return
		}
		seen[v.Interface()] = true
		overwriteAll(v.Elem(), seen)
	case reflect.Interface:
		if !v.IsNil() {
			overwriteAll(v.Elem(), seen)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v = v.Slice(0, v.Cap()) // somebody else's bytes may lie there
		}
		for i := range v.Len() {
			overwriteAll(v.Index(i), seen)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			overwriteAll(v.MapIndex(k), seen)
		}
		v.Clear()
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			overwriteScalar(v)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				overwriteAll(v.Field(i), seen)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			overwriteAll(v.Index(i), seen)
		}
	default:
		overwriteScalar(v)
	}
}

func overwriteScalar(v reflect.Value) {
	switch {
	case !v.CanSet():
	case v.Kind() == reflect.String:
		v.SetString("scribbled")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() ^ 1)
	case v.Kind() == reflect.Struct:
		v.SetZero()
	}
}
