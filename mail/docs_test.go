package mail_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/mail"
	"github.com/posthouse/posthouse/notify/notifyfile"
)

// Each file in the page about mail can be used.
func TestFilesOfThePage(t *testing.T) {
	page := string(must.Get(os.ReadFile("../docs/mail.md"))(t))
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "smtp.password"), []byte("secret"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "alice.secret"), []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0o600))
	blocks := strings.Split(page, "```yaml\n")[1:]
	for _, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		path := filepath.Join(dir, "notify.yaml")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		c := must.Get(notifyfile.Read(path, mail.Kind()))(t)
		if all := must.Get(c.Endpoints(nil))(t); len(all) == 0 {
			t.Errorf("no endpoint in %s", text)
		}
	}
	if len(blocks) < 4 {
		t.Errorf("the page has %d files", len(blocks))
	}
}
