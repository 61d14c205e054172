package storetest

import (
	"reflect"
	"slices"
	"time"
)

// Overwrite changes all that can be reached from v: bytes, numbers and text that pointers,
// slices and maps lead to, and bytes in spare capacity. It does not follow pointers to the
// types of handles.
func Overwrite(v any, handles ...reflect.Type) {
	overwriter{map[any]bool{}, handles}.all(reflect.ValueOf(v))
}

type overwriter struct {
	seen    map[any]bool
	handles []reflect.Type
}

func (o overwriter) all(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || slices.Contains(o.handles, v.Type()) || o.seen[v.Interface()] {
			return
		}
		o.seen[v.Interface()] = true
		o.all(v.Elem())
	case reflect.Interface:
		if !v.IsNil() {
			o.all(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v = v.Slice(0, v.Cap()) // somebody else's bytes may lie there
		}
		for i := range v.Len() {
			o.all(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			o.all(v.MapIndex(k))
		}
		v.Clear()
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			overwriteScalar(v)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				o.all(v.Field(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			o.all(v.Index(i))
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
