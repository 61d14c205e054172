package strictjson

import "reflect"

// ReadBy returns how many bytes Unknown looks at.
func ReadBy(data []byte, t reflect.Type) int {
	w := nameWalk{data: data, known: map[reflect.Type]map[string]reflect.Type{}}
	w.value(t)
	return w.read
}
