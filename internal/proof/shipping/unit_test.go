package shipping

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/service"
)

const unit = "deploy/systemd/posthouse.service"

// TestUnit reads the unit of systemd: its manager is told when the server is ready, its user
// is one that the package makes, and it ends when wrong settings or damage do.
func TestUnit(t *testing.T) {
	text := "\n" + read(t, unit)
	for _, want := range []string{
		"Type=notify", "ExecStart=/usr/bin/posthouse serve", "User=posthouse", "Group=posthouse", "StateDirectory=posthouse",
		"EnvironmentFile=-/etc/posthouse/posthouse.env", "Restart=on-failure", "RestartPreventExitStatus=2 8", "WantedBy=multi-user.target",
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s lacks %s", unit, want)
		}
	}
	if users := read(t, "deploy/systemd/posthouse.sysusers"); !strings.Contains(users, "\nu posthouse - ") {
		t.Errorf("no user posthouse is made:\n%s", users)
	}
}

// maxExposure is the most of systemd's own measure that the unit may have, times ten: 0 is a
// service that can do nothing, 100 one that can do everything.
const maxExposure = "15"

// TestUnitForSystemd has systemd read the unit, and measure what it keeps the server from.
func TestUnitForSystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		service.Missing(t, "systemd-analyze", err.Error())
	}
	self, err := os.Executable() // the command is looked for, and the package is not installed
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "posthouse.service")
	if err := os.WriteFile(file, []byte(strings.Replace(read(t, unit), "/usr/bin/posthouse", self, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", file},
		{"security", "--offline=true", "--no-pager", "--threshold=" + maxExposure, file},
	} {
		out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
