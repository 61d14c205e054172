package e2e

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
)

const bookDatabase = "postgres://posthouse@db.example.com/"

// An operator runs the commands of a page of docs/runbooks on a machine that the test has prepared.
type operator struct {
	*house
	names  [][2]string // what the page calls something, and what it is here
	next   *house      // that "# on host-2" leads to
	server string      // of Postgres
}

// newOperator makes the directories that the pages name.
func newOperator(t *testing.T) *operator {
	o := &operator{house: newHouse(t)}
	o.names = [][2]string{{"/var/lib/posthouse", o.dir}}
	for _, name := range []string{"/backup", "/safe", "/etc/posthouse"} {
		dir := filepath.Join(t.TempDir(), "x") + name
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		o.names = append(o.names, [2]string{name, dir})
	}
	return o
}

// withPostgres makes the pages' database.
func (o *operator) withPostgres() {
	o.t.Helper()
	if o.server == "" {
		o.server = pgtest.URL(o.t)
		drop := func() {
			for _, name := range []string{"posthouse", "restored"} {
				o.shell("dropdb --if-exists --force --maintenance-db='" + o.server + "' " + name)
			}
		}
		drop()
		o.t.Cleanup(drop)
		for _, name := range []string{"posthouse", "restored"} {
			u, err := url.Parse(o.server)
			if err != nil {
				o.t.Fatal(err)
			}
			u.Path = "/" + name
			o.names = append(o.names, [2]string{bookDatabase + name, u.String()})
		}
	}
	o.shell("createdb --maintenance-db='" + o.server + "' posthouse")
}

// here returns a command with what its names are here; back returns what a page says of it.
func (o *operator) here(cmd string) string {
	for _, n := range o.names {
		quoted := n[1]
		if strings.HasPrefix(n[0], bookDatabase) {
			quoted = "'" + quoted + "'"
		}
		cmd = strings.ReplaceAll(cmd, n[0], quoted)
	}
	return cmd
}

func (o *operator) back(text string) string {
	for _, n := range o.names {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "'"+n[1]+"'", n[0]), n[1], n[0])
	}
	return strings.ReplaceAll(text, " --server "+o.url, "")
}

// shell runs a command line with the house's environment, and returns what it says.
func (o *operator) shell(line string) string {
	o.t.Helper()
	path := filepath.Dir(binary) + ":" + os.Getenv("PATH")
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin"); len(found) > 0 {
		path += ":" + found[len(found)-1]
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = append(environment(), "POSTHOUSE_SERVER="+o.url, "POSTHOUSE_DATA_DIR="+o.dir, "PATH="+path)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.HasPrefix(line, "posthouse ") {
		o.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// seed has one thread that is done and one that waits.
func (o *operator) seed() {
	o.t.Helper()
	o.start()
	var done, waits struct{ Gate posthouse.ID }
	o.decode(&done, "send", "dispatch", "please refund order 12", "--thread", "order-12")
	o.must("approve", string(done.Gate), "--by", "alice", "--yes")
	o.decode(&waits, "send", "dispatch", "please refund order 34", "--thread", "order-34")
}

// do runs one line of a page.
func (o *operator) do(cmd string) string {
	o.t.Helper()
	service := func(verbs ...string) {
		for _, verb := range verbs {
			switch {
			case verb == "start":
				o.flags = append(o.flags[:len(o.flags):len(o.flags)], o.configured()...)
				o.start()
			case o.cmd != nil:
				o.stop()
			}
		}
	}
	switch cmd {
	case "systemctl stop posthouse":
		service("stop")
	case "systemctl start posthouse":
		service("start")
	case "systemctl restart posthouse":
		service("stop", "start")
	default:
		return o.back(o.shell(o.here(cmd)))
	}
	return ""
}

// configured returns what /etc/posthouse/posthouse.env says, as flags.
func (o *operator) configured() (flags []string) {
	data, err := os.ReadFile(o.here("/etc/posthouse/posthouse.env"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		flags = append(flags, "--"+strings.ToLower(strings.TrimPrefix(name, "POSTHOUSE_")), value)
	}
	return flags
}

// block runs a block's commands and returns it with what they say.
func (o *operator) block(block string) string {
	var b strings.Builder
	b.WriteString("```console\n")
	for line := range strings.Lines(strings.TrimSuffix(strings.TrimPrefix(block, "```console\n"), "```")) {
		cmd, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		switch {
		case ok:
			b.WriteString("$ " + cmd + "\n" + o.do(cmd))
		case line == "# host-1 is lost\n":
			b.WriteString(line)
			o.kill()
		case line == "# on host-2\n":
			b.WriteString(line)
			o.house = o.next
			o.start()
		}
	}
	b.WriteString("```")
	return b.String()
}

var bookVarying = regexp.MustCompile(`: \d+ of \d+ signatures? valid|(aes256:|ed25519:|sha256:)[0-9a-f]{8,}|[0-9a-f]{64}|\d{4}-\d\d-\d\d[T ][0-9:.]+Z?|\d+(\.\d+)? (KiB|MiB|B)\b|` +
	`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\d+ (ms|s)\b|\d+ slots?\b| +`)

// page runs a page and compares what it says with what the commands say.
func (o *operator) page(name string) {
	t := o.t
	t.Helper()
	file := filepath.Join("../../../docs/runbooks", name+".md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := console.ReplaceAllStringFunc(string(text), o.block)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if a, b := bookVarying.ReplaceAllString(string(text), " "), bookVarying.ReplaceAllString(got, " "); a != b {
		t.Errorf("%s does not say what the commands say; go test ./internal/proof/e2e -run Runbooks -update mends it\n%s",
			file, diff.Diff(name, []byte(a), "now", []byte(b)))
	}
}

// TestRunbooks runs each page of docs/runbooks as it is written.
func TestRunbooks(t *testing.T) {
	if testing.Short() {
		t.Skip("the commands do one thing at a time, in processes of their own")
	}
	pages := map[string]func(*operator){
		"backup": func(o *operator) {
			o.withPostgres()
			o.seed()
			o.do("posthouse store copy sqlite:/var/lib/posthouse/posthouse.db " + bookDatabase + "posthouse")
		},
		"restore": func(o *operator) {
			o.withPostgres()
			o.seed()
			o.do("posthouse backup /backup/posthouse.db")
			o.do("posthouse store copy sqlite:/var/lib/posthouse/posthouse.db " + bookDatabase + "posthouse")
			o.do("pg_dump --format=custom --file=/backup/posthouse.dump " + bookDatabase + "posthouse")
			o.must("send", "dispatch", "please refund order 56", "--thread", "order-56")
			o.do("posthouse witness /safe/head.json")
		},
		"upgrade": (*operator).older,
		"rollback": func(o *operator) {
			o.seed()
			o.stop()
			o.do("cp -p /var/lib/posthouse/posthouse.db /backup/before-upgrade.db")
			o.newer()
		},
		"move": func(o *operator) { o.withPostgres(); o.seed() },
		"rotate": func(o *operator) {
			o.flags = []string{"--encrypt"}
			o.seed()
			o.do("posthouse token create --name ci --role viewer --out /safe/old.token")
		},
		"lost-node": func(o *operator) {
			o.withPostgres()
			o.do("echo POSTHOUSE_STORE=" + bookDatabase + "posthouse > /etc/posthouse/posthouse.env")
			o.flags = o.configured()
			o.seed()
			o.next = newHouse(o.t)
			o.next.flags = o.flags
			if err := os.CopyFS(o.next.dir, os.DirFS(o.dir)); err != nil {
				o.t.Fatal(err)
			}
			o.shell("chmod -R go= " + o.next.dir)
		},
	}
	files, err := filepath.Glob("../../../docs/runbooks/*.md")
	if err != nil || len(files) != len(pages) {
		t.Errorf("there are %d pages, and %d are prepared for, %v", len(files), len(pages), err)
	}
	for name, prepare := range pages {
		t.Run(name, func(t *testing.T) {
			o := newOperator(t)
			prepare(o)
			o.page(name)
		})
	}
}

// older makes the data directory of an earlier version.
func (o *operator) older() {
	t := o.t
	t.Helper()
	store, err := os.ReadFile("../golden/testdata/d691f92/signed.db")
	if err != nil {
		t.Fatal(err)
	}
	// The key that signed it. FOR TESTS ONLY: everybody knows its seed.
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed([]byte("TEST KEY ONLY, golden posthouse!")))
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"posthouse.db": store, "signing.key": key} {
		if err := os.WriteFile(filepath.Join(o.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// newer makes the store one of a later version.
func (o *operator) newer() {
	t := o.t
	t.Helper()
	c, err := sqlite.OpenConn(filepath.Join(o.dir, "posthouse.db"))
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteTransient(c, "PRAGMA user_version = 99", nil)
	if cerr := c.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
}
