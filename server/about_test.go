package server

import (
	"net/http"
	"runtime"
	"testing"
)

// TestVersionIsPublic asks for the version without a token.
func TestVersionIsPublic(t *testing.T) {
	h := open(t, func(o *Options) { o.Name, o.Version = "shop", "v7" })
	var v struct {
		Name, Version, Go, Platform string
		Demo                        bool
	}
	h.send(ask{method: "GET", path: "/version", as: "-"}).want(http.StatusOK).into(&v)
	if v.Name != "shop" || v.Version != "v7" || v.Go != runtime.Version() || v.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("/version answers %+v", v)
	}
	if v.Demo {
		t.Error("/version says of a store that nobody filled that it is a demo")
	}
	open(t, func(o *Options) { o.Demo = true }).send(ask{method: "GET", path: "/version", as: "-"}).want(http.StatusOK).into(&v)
	if !v.Demo {
		t.Error("/version does not say that the store is a demo")
	}
}
