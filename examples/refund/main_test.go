package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

func Example() {
	dir, err := os.MkdirTemp("", "posthouse-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for range 2 { // in a program the two runs are days apart
		if err := run(context.Background(), filepath.Join(dir, "example.db")); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// waiting at 1 gate
	// paid: 40 for order 1234, approved by alice
	// done with 1 message
}
