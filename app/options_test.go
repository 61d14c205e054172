package app

import (
	"log/slog"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/task/link"
)

// TestOptionsReachTheHost: each option of a program is one of the host that serves it.
func TestOptionsReachTheHost(t *testing.T) {
	o := &Options{
		Dir: "d", Store: "memory:", NewStore: true, NewKey: true, AllowWeak: true, Addr: "127.0.0.1:1", CertFile: "cert", KeyFile: "key",
		AllowInsecure: true, AllowedHosts: []string{"h"}, TrustProxy: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Link: &link.Options{}, Encrypt: true, EncryptionKeys: "keys",
		Retain: retain.Policy{KeepLast: 3}, RetainEvery: time.Minute, MaxState: 5, Logger: slog.New(slog.DiscardHandler), LogLevel: new(slog.LevelVar), Profiles: true, DrainTimeout: time.Second,
		Endpoints: []notify.Endpoint{{Name: "ops"}}, PagesURL: "https://posthouse.example.com", SignIn: &signin.Options{}, TraceURL: "https://traces.example.com/{traceId}",
	}
	h, err := o.host()
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string][2]any{
		"Dir": {string(h.Dir), "d"}, "Store": {h.Store, "memory:"}, "NewStore": {h.NewStore, true}, "NewKey": {h.NewKey, true}, "AllowWeak": {h.AllowWeak, true},
		"Addr": {h.Addr, "127.0.0.1:1"}, "CertFile": {h.Cert, "cert"}, "KeyFile": {h.Key, "key"}, "AllowInsecure": {h.AllowInsecure, true},
		"AllowedHosts": {h.AllowedHosts, []string{"h"}}, "TrustProxy": {h.TrustProxy, o.TrustProxy}, "Link": {h.Link, o.Link}, "Encrypt": {h.Encrypt, true}, "EncryptionKeys": {h.Keys, "keys"},
		"Retain": {h.Retain, o.Retain}, "RetainEvery": {h.RetainEvery, time.Minute}, "MaxState": {h.MaxState, int64(5)}, "Logger": {h.Logger, o.Logger},
		"LogLevel": {h.LogLevel, o.LogLevel}, "Profiles": {h.Profiles, true}, "DrainTimeout": {h.DrainTimeout, time.Second}, "Endpoints": {h.Endpoints, o.Endpoints}, "PagesURL": {h.PagesURL, o.PagesURL}, "SignIn": {h.SignIn, o.SignIn}, "TraceURL": {h.TraceURL, o.TraceURL},
	} {
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("%s: the host has %v, want %v", what, got[0], got[1])
		}
	}
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Programs" && name != "Ready" {
			t.Errorf("the test does not set %s", name)
		}
	}
}
