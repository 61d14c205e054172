// Command typecheck type-checks packages with their tests for another operating system:
//
//	go -C tools build -o ../bin/ ./typecheck && GOOS=windows bin/typecheck ./...
//
// It reads everything from source and compiles nothing, so it takes seconds where a build
// or a vet for a second system compiles all dependencies once more.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
		Env:   append(os.Environ(), "CGO_ENABLED=0"),
		Tests: true,
	}, os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if packages.PrintErrors(loaded) > 0 {
		os.Exit(1)
	}
	fmt.Printf("%d packages and their tests\n", len(loaded))
}
