package slack_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	slackgo "github.com/slack-go/slack"

	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify/notifyfile"
	"github.com/posthouse/posthouse/slack"
)

// Each file in the page about Slack can be used.
func TestFilesOfThePage(t *testing.T) {
	page := string(must.Get(os.ReadFile("../docs/slack.md"))(t))
	dir := t.TempDir()
	for name, text := range map[string]string{"slack.token": "xoxb-1", "slack.app": "xapp-1", "slack.signing": "secret"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	blocks := strings.Split(page, "```yaml\n")[1:]
	for _, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		path := filepath.Join(dir, "notify.yaml")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		c := must.Get(notifyfile.Read(path, slack.Kind()))(t)
		if all := must.Get(c.Endpoints(nil))(t); len(all) == 0 {
			t.Errorf("no endpoint in %s", text)
		}
	}
	_, manifest, _ := strings.Cut(page, "```json\n")
	manifest, _, _ = strings.Cut(manifest, "```")
	var m slackgo.Manifest // the library knows its form
	d := json.NewDecoder(strings.NewReader(manifest))
	d.DisallowUnknownFields()
	must.Do(t, d.Decode(&m))
	if len(blocks) < 3 || len(m.OAuthConfig.Scopes.Bot) < 4 || !m.Settings.SocketModeEnabled {
		t.Errorf("the page has %d files and the manifest %+v", len(blocks), m)
	}
}
