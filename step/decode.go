package step

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/jsontype"
)

// decode returns a step's result. One that an earlier version of the program recorded in
// another form is converted first.
func decode[T any](name string, v posthouse.Value, o *Options) (T, error) {
	what := "the result of step " + name
	t, err := jsontype.DecodeRecorded[T](what, v, o.codec())
	if err == nil || o.Convert == nil {
		return t, err
	}
	err = engine.Guard(func() (err error) { v, err = o.Convert(v); return err })
	if err != nil {
		return t, err
	}
	return jsontype.DecodeRecorded[T](what, v, o.codec())
}
