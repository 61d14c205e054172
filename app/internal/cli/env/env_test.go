package env

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
)

// TestTokenComesFromTheNearestPlace: a named file goes before the variable, and the variable
// before the data directory. No server of another machine gets the data directory's token.
func TestTokenComesFromTheNearestPlace(t *testing.T) {
	dir := t.TempDir()
	write := func(name, secret string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	variable := ""
	e := &Env{DataDir: dir, Getenv: func(name string) string { return map[string]string{"POSTHOUSE_TOKEN": variable}[name] }}
	token := func(want string, local bool) {
		t.Helper()
		if got, err := e.OtherToken(local); got != want || err != nil {
			t.Errorf("the token is %q, %v, want %q", got, err, want)
		}
	}
	token("", true)
	write("token", "ph_dir")
	token("ph_dir", true)
	token("", false)
	variable = " ph_variable\n"
	token("ph_variable", true)
	token("ph_variable", false)
	e.TokenFile = write("mine", "ph_file")
	token("ph_file", false)
}

// TestAContextGetsNoOtherToken: what is in the environment, at the top of the configuration file and in
// the data directory is for other servers. Only the command line may name another file.
func TestAContextGetsNoOtherToken(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("token", "ph_dir")
	top, prod, variable, flag := write("top", "ph_top"), write("prod", "ph_prod"), write("variable", "ph_variable"), write("flag", "ph_flag")
	for _, head := range []string{"", "token-file: " + top + "\n"} {
		config := write("config.yaml", head+"contexts:\n  prod: {server: https://p, token-file: "+prod+"}\n  tunnel: {server: http://127.0.0.1:9000}\n")
		for _, vars := range []map[string]string{nil, {"POSTHOUSE_TOKEN": "ph_env"}, {"POSTHOUSE_TOKEN_FILE": variable}, {"POSTHOUSE_TOKEN": "ph_env", "POSTHOUSE_TOKEN_FILE": variable}} {
			for args, want := range map[string]string{
				"--context prod": "ph_prod", "--context tunnel": "", "--context tunnel --token-file " + flag: "ph_flag", "--context prod --token-file " + flag: "ph_flag",
			} {
				e := &Env{Getenv: func(name string) string { return vars[name] }, ConfigKeys: []string{"token-file"}}
				f := pflag.NewFlagSet("", pflag.ContinueOnError)
				e.GlobalFlags(f)
				if err := errors.Join(f.Parse(append(strings.Fields(args), "--data-dir", dir, "--config", config)), e.ReadSettings(f, false)); err != nil {
					t.Fatal(err)
				}
				sent, err := e.Token()
				if err != nil || sent != want {
					t.Errorf("%s with %v and %q sends %q, %v, want %q", args, vars, head, sent, err, want)
				}
				if hinted := strings.Contains(e.Refused(sent), "posthouse context add tunnel --server http://127.0.0.1:9000 --token-file FILE"); hinted != (want == "") {
					t.Errorf("%s has the hint %q", args, e.Refused(sent))
				}
				if other, err := e.OtherToken(true); err != nil || other == "ph_prod" || other == "" {
					t.Errorf("%s: a server that is not the context's gets %q, %v", args, other, err)
				}
			}
		}
	}
}

// TestNextRepeatsFlags: the next command names the binary, and the flags that it needs as well.
func TestNextRepeatsFlags(t *testing.T) {
	var out bytes.Buffer
	e := &Env{Term: term.Term{Out: &out}, Binary: "shop", NoDev: true}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	e.GlobalFlags(f)
	if err := f.Parse([]string{"--data-dir", "my data", "--json=false"}); err != nil {
		t.Fatal(err)
	}
	e.Repeat(f)
	e.Next("posthouse log %s", "t1")
	if got, want := out.String(), "\nnext: shop log t1 --data-dir 'my data'\n"; got != want {
		t.Errorf("it prints %q, want %q", got, want)
	}
	if got, want := e.Named("posthouse dev makes one; below posthouse"), "shop serve makes one; below posthouse"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
	out.Reset()
	e.Format = term.JSON
	e.Next("posthouse log t1")
	if out.Len() > 0 {
		t.Errorf("with --json it prints %q", out.String())
	}
}

// TestArgumentsAreRead from the command line, from a file and from standard input, and text
// that is not UTF-8, or too long, is refused.
func TestArgumentsAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "value.json")
	if err := os.WriteFile(file, []byte(`{"n":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	in := strings.NewReader("")
	e := &Env{Term: term.Term{In: in}}
	for v, want := range map[string]string{`"x"`: `"x"`, "@" + file: `{"n":1}`, "-": "[2]"} {
		in.Reset("[2]")
		if got, err := e.ReadJSON("value", v, "no hint"); string(got) != want || err != nil {
			t.Errorf("%s is read as %s, %v, want %s", v, got, err, want)
		}
	}
	for v, want := range map[string]error{"{": posthouse.ErrInvalid, "\xff": posthouse.ErrInvalid, "@" + file + ".none": posthouse.ErrInvalid, "-": posthouse.ErrTooLarge} {
		in.Reset(strings.Repeat(" ", 16<<20+1))
		if _, err := e.ReadJSON("value", v, "no hint"); !errors.Is(err, want) {
			t.Errorf("%.10q is answered with %v, want %v", v, err, want)
		}
	}
}

// TestExitCodesAreQuiet: Exit ends a command with its code, also in an error that wraps it.
func TestExitCodesAreQuiet(t *testing.T) {
	for _, err := range []error{Exit(8), fmt.Errorf("wrapped: %w", Exit(8)), errors.Join(Exit(8), errors.New("more"))} {
		if code, ok := ExitCode(err); code != 8 || !ok {
			t.Errorf("%v has the exit code %d, %t", err, code, ok)
		}
	}
	if code, ok := ExitCode(posthouse.ErrBusy); ok {
		t.Errorf("another error has the exit code %d", code)
	}
}
