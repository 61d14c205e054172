package ledgertest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// printed shows all that can be reached from v: equal values print equally.
func printed(v any) string {
	var b strings.Builder
	printTo(&b, reflect.ValueOf(v))
	return b.String()
}

func printTo(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		printTo(b, v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			fmt.Fprintf(b, "%q", v.Interface())
			return
		}
		b.WriteByte('[')
		for i := range v.Len() {
			printTo(b, v.Index(i))
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case reflect.Map:
		var lines []string
		for _, k := range v.MapKeys() {
			lines = append(lines, fmt.Sprintf("%q", k.Interface())+":"+printed(v.MapIndex(k).Interface()))
		}
		slices.Sort(lines)
		fmt.Fprint(b, lines)
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			b.WriteString(t.UTC().Format(time.RFC3339Nano))
			return
		}
		b.WriteByte('{')
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type.Kind() != reflect.Func {
				b.WriteString(f.Name + ":")
				printTo(b, v.Field(i))
				b.WriteByte(' ')
			}
		}
		b.WriteByte('}')
	default:
		fmt.Fprintf(b, "%#v", v.Interface())
	}
}
