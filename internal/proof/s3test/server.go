package s3test

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Fault is what becomes of one request.
type Fault int

// The faults.
const (
	None    Fault = iota
	Before        // 503, and nothing was done
	After         // done, and the connection is cut before the answer
	AfterBy       // done, and the answer is 500
	Torn          // the body of the answer ends halfway
	Refused       // 403
	Full          // 507
	Busy          // 409, as of a write that meets another
)

// Credentials that the server takes, as any others.
const (
	AccessKey = "test"
	SecretKey = "secret-of-tests"
)

// A Server is the service. Set its fields before it is used.
type Server struct {
	NoConditions bool // writes overwrite whatever their conditions say
	Versions     bool // the bucket says that it keeps old versions

	mu      sync.Mutex
	objects map[string]object // by bucket/key
	fault   func(r *http.Request) Fault
	counts  map[string]int // requests by kind
	latency time.Duration
	http    *httptest.Server
}

type object struct {
	data []byte
	tag  string
}

// TB is what New needs of a test.
type TB interface {
	Helper()
	Cleanup(func())
}

// New starts a server that ends with the test.
func New(t TB) *Server {
	t.Helper()
	s := Start()
	t.Cleanup(s.Close)
	return s
}

// Start starts a server.
func Start() *Server {
	s := &Server{objects: map[string]object{}, counts: map[string]int{}}
	s.http = httptest.NewServer(s)
	return s
}

// Close ends the server.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// CutConnections ends all connections, with whatever is on its way in them.
func (s *Server) CutConnections() { s.http.CloseClientConnections() }

// URL returns the URL of a store in a bucket, which need not be made.
func (s *Server) URL(bucket, prefix string) string {
	return "s3://" + bucket + "/" + prefix + "?endpoint=" + url.QueryEscape(s.http.URL)
}

// Endpoint returns the server's URL.
func (s *Server) Endpoint() string { return s.http.URL }

// SetFault says what becomes of requests; nil: no faults. It is called for one at a time.
func (s *Server) SetFault(f func(r *http.Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// SetLatency makes each request take as long, for benchmarks.
func (s *Server) SetLatency(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = d
}

// Counts returns how many requests of each kind came since it was called last: GET, PUT,
// DELETE and LIST.
func (s *Server) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	s.counts = map[string]int{}
	return c
}

// Keys returns the keys in a bucket that begin with prefix, sorted.
func (s *Server) Keys(bucket, prefix string) (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := range s.objects {
		if key, ok := strings.CutPrefix(at, bucket+"/"); ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Get returns an object's bytes, nil if it does not exist.
func (s *Server) Get(bucket, key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.objects[bucket+"/"+key].data)
}

// Set writes an object without a request; nil deletes it.
func (s *Server) Set(bucket, key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data == nil {
		delete(s.objects, bucket+"/"+key)
		return
	}
	s.objects[bucket+"/"+key] = newObject(data)
}

// Copy copies what is in a bucket now into another one.
func (s *Server) Copy(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, o := range maps.Clone(s.objects) {
		if key, ok := strings.CutPrefix(at, from+"/"); ok {
			s.objects[to+"/"+key] = o
		}
	}
}

func newObject(data []byte) object {
	sum := md5.Sum(data)
	return object{slices.Clone(data), hex.EncodeToString(sum[:])}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	s.mu.Lock()
	kind := r.Method
	if r.Method == http.MethodGet && r.URL.Query().Has("list-type") {
		kind = "LIST"
	}
	s.counts[kind]++
	fault := None
	if s.fault != nil {
		fault = s.fault(r)
	}
	latency := s.latency
	s.mu.Unlock()
	<-time.After(latency / 2)
	defer func() { <-time.After(latency / 2) }()
	switch fault {
	case Before:
		fail(w, http.StatusServiceUnavailable, "SlowDown")
		return
	case Refused:
		fail(w, http.StatusForbidden, "AccessDenied")
		return
	case Full:
		fail(w, http.StatusInsufficientStorage, "XMinioStorageFull")
		return
	case Busy:
		fail(w, http.StatusConflict, "ConditionalRequestConflict")
		return
	}
	answer := httptest.NewRecorder()
	s.serve(answer, r, body)
	switch fault {
	case After:
		panic(http.ErrAbortHandler)
	case AfterBy:
		fail(w, http.StatusInternalServerError, "InternalError")
		return
	}
	maps.Copy(w.Header(), answer.Header())
	out := answer.Body.Bytes()
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	w.WriteHeader(answer.Code)
	if fault == Torn {
		_, _ = w.Write(out[:len(out)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(out)
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>of the test</Message></Error>", code)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q := r.URL.Query()
	at := bucket + "/" + key
	switch {
	case r.Method == http.MethodGet && key == "" && q.Get("list-type") == "2":
		s.list(w, bucket, q)
	case r.Method == http.MethodGet && key == "" && q.Has("versioning"):
		state := ""
		if s.Versions {
			state = "<Status>Enabled</Status>"
		}
		_, _ = fmt.Fprintf(w, "<VersioningConfiguration>%s</VersioningConfiguration>", state)
	case key == "" || r.Header.Get("Authorization") == "":
		fail(w, http.StatusNotImplemented, "NotImplemented")
	case r.Method == http.MethodGet:
		s.get(w, r, at)
	case r.Method == http.MethodPut:
		s.put(w, r, at, body)
	case r.Method == http.MethodDelete:
		delete(s.objects, at)
		w.WriteHeader(http.StatusNoContent)
	default:
		fail(w, http.StatusNotImplemented, "NotImplemented")
	}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, at string) {
	o, ok := s.objects[at]
	if !ok {
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	data, status := o.data, http.StatusOK
	if rng := r.Header.Get("Range"); rng != "" {
		var from, to int
		if n, err := fmt.Sscanf(rng, "bytes=%d-%d", &from, &to); n != 2 || err != nil {
			fail(w, http.StatusNotImplemented, "NotImplemented")
			return
		}
		if from >= len(data) {
			fail(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
			return
		}
		to = min(to, len(data)-1)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(data)))
		data, status = data[from:to+1], http.StatusPartialContent
	}
	s.head(w, o)
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

func (s *Server) head(w http.ResponseWriter, o object) {
	w.Header().Set("ETag", `"`+o.tag+`"`)
	w.Header().Set("Last-Modified", time.Unix(1, 0).UTC().Format(http.TimeFormat))
	if s.Versions {
		w.Header().Set("X-Amz-Version-Id", "v"+o.tag)
	}
}

func (s *Server) put(w http.ResponseWriter, r *http.Request, at string, body []byte) {
	have, there := s.objects[at]
	none, match := r.Header.Get("If-None-Match"), strings.Trim(r.Header.Get("If-Match"), `"`)
	sum, md := sha256.Sum256(body), md5.Sum(body)
	given := r.Header.Get("X-Amz-Content-Sha256")
	switch {
	case given != "UNSIGNED-PAYLOAD" && given != hex.EncodeToString(sum[:]):
		fail(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch")
		return
	case r.Header.Get("Content-Md5") != base64.StdEncoding.EncodeToString(md[:]):
		fail(w, http.StatusBadRequest, "BadDigest")
		return
	case s.NoConditions:
	case none != "" && none != "*":
		fail(w, http.StatusNotImplemented, "NotImplemented")
		return
	case none == "*" && there, match != "" && there && have.tag != match:
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	case match != "" && !there:
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	o := newObject(body)
	s.objects[at] = o
	s.head(w, o)
}

// A listing is the answer to a list.
type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listed
}

type listed struct {
	Key          string
	Size         int
	ETag         string
	LastModified string
}

func (s *Server) list(w http.ResponseWriter, bucket string, q url.Values) {
	after := max(q.Get("start-after"), q.Get("continuation-token"))
	most, err := strconv.Atoi(q.Get("max-keys"))
	if err != nil || most <= 0 || most > 1000 {
		most = 1000
	}
	var keys []string
	for at := range s.objects {
		if key, ok := strings.CutPrefix(at, bucket+"/"); ok && strings.HasPrefix(key, q.Get("prefix")) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var out listing
	if len(keys) > most {
		keys = keys[:most]
		out.IsTruncated, out.NextContinuationToken = true, keys[most-1]
	}
	for _, key := range keys {
		o := s.objects[bucket+"/"+key]
		out.Contents = append(out.Contents, listed{key, len(o.data), `"` + o.tag + `"`, time.Unix(1, 0).UTC().Format(time.RFC3339)})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(&out)
}
