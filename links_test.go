package posthouse_test

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// linked are the modules with code in the binary, each with a reason.
var linked = map[string]string{
	"github.com/antithesishq/antithesis-sdk-go": "nats-server asserts with it; without its tag that is empty functions",
	"github.com/cespare/xxhash/v2":              "minio-go: checksums of parts",
	"github.com/coder/websocket":                "conversations with agents over a WebSocket, in server",
	"github.com/dustin/go-humanize":             "minio-go and modernc.org/libc: sizes that people read",
	"github.com/google/jsonschema-go":           "answers of people are checked against schemas, in gate",
	"github.com/google/uuid":                    "modernc.org/libc and minio-go: identifiers",
	"github.com/jackc/pgpassfile":               "pgx: passwords from ~/.pgpass",
	"github.com/jackc/pgservicefile":            "pgx: services of the configuration of libpq",
	"github.com/jackc/pgx/v5":                   "store/pgstore: Postgres with pipelines and notifications",
	"github.com/jackc/puddle/v2":                "pgx: the pool of connections",
	"github.com/klauspost/compress":             "deltas and bodies are compressed with zstd, in internal/base/delta; nats-server and minio-go: s2",
	"github.com/klauspost/cpuid/v2":             "minio-go: which instructions there are",
	"github.com/klauspost/crc32":                "minio-go: checksums of parts",
	"github.com/minio/crc64nvme":                "minio-go: checksums of objects",
	"github.com/minio/highwayhash":              "nats-server's checksums of messages, which store/natsstore checks too",
	"github.com/minio/md5-simd":                 "minio-go: checksums that old services want",
	"github.com/minio/minio-go/v7":              "store/s3store: the smallest client that sends conditions with a write",
	"github.com/nats-io/jwt/v2":                 "nats-server: accounts",
	"github.com/nats-io/nats-server/v2":         "a NATS server in the process: store/natsstore and links to workers",
	"github.com/nats-io/nats.go":                "store/natsstore, task/natstask and task/natshint: the client",
	"github.com/nats-io/nkeys":                  "nats.go and nats-server: keys of accounts",
	"github.com/nats-io/nuid":                   "nats.go and nats-server: names of inboxes",
	"github.com/philhofer/fwd":                  "msgp: a reader that looks ahead",
	"github.com/remyoudompheng/bigfft":          "modernc.org/mathutil: products of large numbers",
	"github.com/rivo/uniseg":                    "columns of text on a terminal, in app/internal/term",
	"github.com/rs/xid":                         "minio-go: names of uploads",
	"github.com/spf13/cobra":                    "the command line, in app/internal/cli",
	"github.com/spf13/pflag":                    "cobra: flags",
	"github.com/tinylib/msgp":                   "minio-go: an encoding of its own",
	"github.com/zeebo/xxh3":                     "minio-go: checksums of parts",
	"go.yaml.in/yaml/v3":                        "answers as YAML, in app/internal/term; minio-go: files of credentials",
	"golang.org/x/crypto":                       "nats-server: bcrypt and ocsp; nkeys and minio-go: keys",
	"golang.org/x/net":                          "minio-go: names of hosts",
	"golang.org/x/sync":                         "pgx: semaphores of its pool",
	"golang.org/x/sys":                          "store/sqlitestore and its modules: calls of the system",
	"golang.org/x/term":                         "the width of a terminal, in app/internal/term",
	"golang.org/x/text":                         "pgx and x/net: passwords and names of hosts in normal form",
	"golang.org/x/time":                         "nats-server: rates",
	"gopkg.in/ini.v1":                           "minio-go: files of credentials",
	"modernc.org/libc":                          "modernc.org/sqlite: C's library in Go",
	"modernc.org/mathutil":                      "modernc.org/libc: numbers",
	"modernc.org/memory":                        "modernc.org/libc: memory that is not Go's",
	"modernc.org/sqlite":                        "store/sqlitestore: SQLite without cgo",
	"zombiezen.com/go/sqlite":                   "store/sqlitestore: statements of it, without database/sql",
}

// proof are packages of this module that are for tests alone.
var proof = []string{
	"internal/proof/certtest", "internal/proof/chaos", "internal/proof/damage", "internal/proof/differential", "internal/proof/dying", "internal/proof/e2e", "internal/proof/erased", "internal/proof/golden",
	"internal/proof/history", "internal/proof/must", "internal/proof/pgtest", "internal/proof/powercut", "internal/proof/record", "internal/proof/redistest", "internal/proof/s3test", "internal/proof/service",
	"internal/proof/site", "internal/proof/stalling", "internal/proof", "store/lineartest",
}

// TestCommandLinks holds what the binary links to what is listed here: a reader of
// its bill of materials finds a reason for each module, and no tool of the tests.
func TestCommandLinks(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}} {{.ImportPath}}", "./cmd/posthouse")
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	modules := map[string]string{} // with a package of each
	for line := range strings.Lines(string(out)) {
		path, pkg, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		own, inside := strings.CutPrefix(pkg, module+"/")
		switch {
		case inside && slices.ContainsFunc(proof, func(p string) bool { return within(own, p) }):
			t.Errorf("the binary links %s, which is for tests: look at what imports it (go list -deps)", pkg)
		case path == "" && within(pkg, "testing"):
			t.Errorf("the binary links package %s", pkg)
		case path != "" && path != module:
			modules[path] = pkg
		}
	}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		if linked[path] == "" {
			t.Errorf("the binary links module %s (package %s); give a reason in links_test.go, or do without", path, modules[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(linked)) {
		if modules[path] == "" {
			t.Errorf("links_test.go lists module %s, which the binary does not link", path)
		}
	}
}
