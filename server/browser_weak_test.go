package server

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse/server/internal/probe"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestPagesSayWhatIsWeak: each page says by which settings the store may lose what it has
// acknowledged, as /readyz does, and no longer once that is changed.
func TestPagesSayWhatIsWeak(t *testing.T) {
	var now atomic.Int64
	now.Store(1700000000)
	h := open(t, func(o *Options) { o.Now = func() time.Time { return time.Unix(now.Load(), 0) } })
	var weak atomic.Pointer[[]string]
	weak.Store(&[]string{"fsync is <b>off</b>: it forgets"})
	resourceOf[*probe.Probes](h).Weak = func(context.Context) ([]string, error) { return *weak.Load(), nil }
	_, g := h.waiting("t1")
	running := chromium(t)
	const docs = `document.querySelector("main > #weak:first-child")`
	const app = `[...document.querySelectorAll("main [role=alert]")].find((e) => e.textContent.includes("may lose"))`
	for _, path := range []string{"", "/gates/" + string(g.ID), "/docs/api"} {
		banner := docs
		if path != "/docs/api" {
			banner = "(" + app + " ?? null)"
		}
		now.Add(2) // what was found is remembered for a second
		b := h.openPage(running, tokens.Viewer, path)
		b.wait(banner + " !== null")
		if said := b.text(banner + `.textContent`); !strings.Contains(said, (*weak.Load())[0]) {
			t.Errorf("%q: it says %s", path, said)
		}
		if role := b.text(banner + `.getAttribute("role") + " " + getComputedStyle(` + banner + `).display`); role != "alert block" {
			t.Errorf("%q: it is %s", path, role)
		}
		if path == "/docs/api" {
			weak.Store(&[]string{})
			now.Add(2)
			b.do(`document.dispatchEvent(new Event("visibilitychange"))`)
			b.wait(`document.querySelector("#weak") === null`)
		}
	}
	b := h.openTab(running, tokens.Viewer)
	b.wait(question + ` !== null`)
	b.do(`window.asked = fetch("/readyz").then(() => { document.title = "asked" })`)
	b.wait(`document.title === "asked"`)
	if there := b.text(`String(` + app + `)`); there != "undefined" {
		t.Errorf("a store that is not weak has a banner: %s", there)
	}
}
