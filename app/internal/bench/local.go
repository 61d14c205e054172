package bench

import (
	"net"
	"net/http"
	"time"
)

// A localServer is a server of net/http on this machine. Package httptest has one that programs which ship do
// not link.
type localServer struct {
	URL    string
	server *http.Server
	ended  chan struct{}
}

// serveLocally starts a server.
func serveLocally(h http.HandlerFunc) (*localServer, error) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &localServer{URL: "http://" + at.Addr().String(), server: &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		_ = l.server.Serve(at) // until Close
	}()
	return l, nil
}

// close ends the server and what is connected to it.
func (l *localServer) close() {
	_ = l.server.Close() // what it measured is done
	<-l.ended
}
