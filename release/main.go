package main

import (
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/cmd/posthouse/sample"
	"github.com/posthouse/posthouse/mail"
	"github.com/posthouse/posthouse/notify/notifyfile"
	"github.com/posthouse/posthouse/oidc"
	"github.com/posthouse/posthouse/otel"
	"github.com/posthouse/posthouse/slack"
)

// version is set by the linker; without it, it is what Go recorded.
var version string

func main() { app.Main(programs()) }

// programs are those of cmd/posthouse, which export what they do, let people log in by a provider, and reach them by
// mail and Slack.
func programs() app.Programs {
	p := sample.Programs(version)
	p.OpenTraces, p.OpenSignIn = otel.Open, oidc.Open
	p.Channels = []notifyfile.Kind{mail.Kind(), slack.Kind()}
	return p
}
