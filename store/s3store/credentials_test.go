package s3store_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/store/s3store"
)

// TestSessionToken: requests are signed with the keys and carry the token of the options.
func TestSessionToken(t *testing.T) {
	var token, signed string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, signed = r.Header.Get("X-Amz-Security-Token"), r.Header.Get("Authorization")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer service.Close()
	s, err := s3store.Open(t.Context(), "s3://bucket", &s3store.Options{
		Endpoint: strings.TrimPrefix(service.URL, "http://"), Insecure: true, Region: "eu-west-1", AccessKey: "key", SecretKey: "secret", SessionToken: "for an hour",
		Timeout: time.Second,
	})
	if err == nil {
		_ = s.Close()
		t.Fatal("a service that refuses all was opened")
	}
	if token != "for an hour" || !strings.Contains(signed, "Credential=key/") || !strings.Contains(signed, "/eu-west-1/") {
		t.Errorf("token %q, signed %q", token, signed)
	}
}
