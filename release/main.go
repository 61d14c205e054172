package main

import (
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/cmd/posthouse/sample"
	"github.com/posthouse/posthouse/otel"
)

// version is set by the linker; without it, it is what Go recorded.
var version string

func main() { app.Main(programs()) }

// programs are those of cmd/posthouse, which export what they do.
func programs() app.Programs {
	p := sample.Programs(version)
	p.OpenTraces = otel.Open
	return p
}
