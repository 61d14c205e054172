package gate

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// maxWalk bounds how deep a value is compared with its copy. JSON has at most [posthouse.MaxDepth] levels.
const maxWalk = 4 * posthouse.MaxDepth

// lost returns the path of the first field of v that its JSON does not carry: copied was decoded
// from that JSON and differs there. It is "" if the two are the same. A nil and an empty slice or
// map are the same.
func lost(v, copied reflect.Value) string {
	path, is := lostAt("", v, copied, 0)
	switch {
	case !is:
		return ""
	case path == "":
		return "value as a whole"
	}
	return "field " + strings.TrimPrefix(path, ".")
}

func lostAt(path string, v, copied reflect.Value, depth int) (at string, is bool) {
	if !v.IsValid() || !copied.IsValid() || depth > maxWalk {
		return path, v.IsValid() != copied.IsValid() || depth > maxWalk
	}
	if v.Type() != copied.Type() {
		return lostInInterface(path, v, depth)
	}
	if v.CanInterface() && hasOwnForm(v.Type()) {
		return path, !sameValue(v, copied)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || copied.IsNil() {
			return path, v.IsNil() != copied.IsNil()
		}
		return lostAt(path, v.Elem(), copied.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			below := path
			if f := v.Type().Field(i); !f.Anonymous || v.Field(i).Kind() != reflect.Struct {
				below += "." + f.Name
			}
			if at, is := lostAt(below, v.Field(i), copied.Field(i), depth+1); is {
				return at, true
			}
		}
		return "", false
	case reflect.Slice, reflect.Array:
		if v.Len() != copied.Len() {
			return path, true
		}
		for i := range v.Len() {
			if at, is := lostAt(path+"["+strconv.Itoa(i)+"]", v.Index(i), copied.Index(i), depth+1); is {
				return at, true
			}
		}
		return "", false
	case reflect.Map:
		return lostInMap(path, v, copied, depth)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return path, !v.IsNil() || !copied.IsNil()
	}
	return path, !v.Equal(copied)
}

func lostInMap(path string, v, copied reflect.Value, depth int) (at string, is bool) {
	if v.Len() != copied.Len() {
		return path, true
	}
	for it := v.MapRange(); it.Next(); {
		below := path + "[...]"
		if it.Key().Kind() == reflect.String {
			below = path + "." + it.Key().String()
		}
		if at, is := lostAt(below, it.Value(), copied.MapIndex(it.Key()), depth+1); is {
			return at, true
		}
	}
	return "", false
}

// lostInInterface is for a value in an interface, which reads back as another type. It compares
// the value with what its own type would read.
func lostInInterface(path string, v reflect.Value, depth int) (at string, is bool) {
	if !v.CanInterface() {
		return path, true
	}
	data, err := json.Marshal(v.Interface())
	if err != nil {
		return path, true
	}
	own := reflect.New(v.Type())
	if err := json.Unmarshal(data, own.Interface()); err != nil {
		return path, true
	}
	return lostAt(path, v, own.Elem(), depth+1)
}

// hasOwnForm reports whether a type reads and writes its JSON itself.
func hasOwnForm(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// sameValue compares values of a type with a form of its own, by its method Equal if it has one.
func sameValue(v, copied reflect.Value) bool {
	if v.Type() == reflect.TypeFor[json.RawMessage]() || reflect.DeepEqual(v.Interface(), copied.Interface()) {
		return true // raw JSON hides nothing, and its spaces say nothing
	}
	equal := v.MethodByName("Equal")
	if !equal.IsValid() || equal.Type().NumIn() != 1 || equal.Type().In(0) != v.Type() || equal.Type().NumOut() != 1 || equal.Type().Out(0).Kind() != reflect.Bool {
		return false
	}
	if v.Kind() == reflect.Pointer && (v.IsNil() || copied.IsNil()) {
		return false
	}
	return equal.Call([]reflect.Value{copied})[0].Bool()
}

// shownAs returns the arguments of a call as its JSON has them. It refuses a field that the JSON
// does not carry: nobody would see it.
func shownAs[In any](tool string, in In, arguments []byte) (shown In, err error) {
	e := &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "arguments",
		Hint: "the tool did not run; give the field a name in JSON, leave it empty, or have the tool find it elsewhere",
	}
	shown, err = read[In](arguments, false)
	if err != nil {
		e.Message, e.Err = "of tool "+tool+" would not run as they are shown", err
		return shown, e
	}
	if at := lost(reflect.ValueOf(&in).Elem(), reflect.ValueOf(&shown).Elem()); at != "" {
		e.Message = "of tool " + tool + " are not all in their JSON, which is what people see: the " + at + " is set"
		return shown, e
	}
	return shown, nil
}
