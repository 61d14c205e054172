package jsonpatch_test

import (
	"fmt"

	"github.com/posthouse/posthouse/internal/base/jsonpatch"
)

// A test that fails says where.
func Example() {
	doc := []byte(`{"account":9007199254740993,"amount":40}`)
	after, err := jsonpatch.Apply(doc, []byte(`[{"op":"test","path":"/amount","value":40},{"op":"replace","path":"/amount","value":35}]`), 1<<20)
	fmt.Println(string(after), err)
	_, err = jsonpatch.Apply(after, []byte(`[{"op":"test","path":"/amount","value":40}]`), 1<<20)
	fmt.Println(err)
	// Output:
	// {"account":9007199254740993,"amount":35} <nil>
	// operation 0 (test "/amount") found another value
}
