package tokens_test

import (
	"fmt"
	"os"

	"github.com/posthouse/posthouse/server/tokens"
)

func Example() {
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ts, err := tokens.Open(dir, nil)
	if err != nil {
		panic(err)
	}
	if _, err := ts.Create("alice", tokens.Approver, nil); err != nil { // the secret is shown here and never again
		panic(err)
	}
	if _, err := ts.Create("bob", tokens.Viewer, nil); err != nil {
		panic(err)
	}
	if err := ts.Revoke("bob", nil); err != nil {
		panic(err)
	}
	list, err := ts.All()
	if err != nil {
		panic(err)
	}
	for _, t := range list {
		fmt.Println(t.Name, t.Role)
	}
	// Output: alice approver
}
