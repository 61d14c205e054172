package main

import (
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/cmd/posthouse/sample"
)

// version is set by the linker; without it, it is what Go recorded.
var version string

func main() { app.Main(sample.Programs(version)) }
