package main

import (
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/cmd/posthouse/sample"
	"github.com/posthouse/posthouse/oidc"
	"github.com/posthouse/posthouse/otel"
)

// version is set by the linker; without it, it is what Go recorded.
var version string

func main() { app.Main(programs()) }

// programs are those of cmd/posthouse, which export what they do, and let people log in by a provider.
func programs() app.Programs {
	p := sample.Programs(version)
	p.OpenTraces, p.OpenSignIn = otel.Open, oidc.Open
	return p
}
