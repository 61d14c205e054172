package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestLinkedModulesHaveTheirLicences: the released binary's modules have a text each, those of nested modules too.
func TestLinkedModulesHaveTheirLicences(t *testing.T) {
	var b bytes.Buffer
	if err := write(&b, "../../release"); err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"Go: LICENSE", "github.com/coreos/go-oidc/v3", "github.com/slack-go/slack", "google.golang.org/grpc", "github.com/jackc/pgx/v5", "modernc.org/sqlite"} {
		if !strings.Contains(b.String(), "\n"+module) {
			t.Errorf("there is no text of %s", module)
		}
	}
	if strings.Contains(b.String(), "\ngithub.com/posthouse/") {
		t.Error("the project's own modules are among them")
	}
}
