package loopback_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/base/loopback"
)

func TestIs(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "192.0.2.1": false, "localhost.example": false, "127.0.0.1.example": false, "[::1]": false, "127.1": false,
	} {
		if loopback.Is(host) != want {
			t.Errorf("%q: want %v", host, want)
		}
	}
}
