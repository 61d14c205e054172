package s3store

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// A bucket is what the store needs of a service. Errors are those below, or what says that
// the outcome is not known.
type bucket interface {
	// get reads an object, or n bytes of it from an offset on; n is 0 for all.
	get(ctx context.Context, key string, from, n int64) (object, error)

	// put writes an object: with the tag "" only if the object does not exist, else only
	// if it has this tag.
	put(ctx context.Context, key string, data []byte, tag string) (object, error)

	// remove deletes an object. Removing what is not there succeeds.
	remove(ctx context.Context, key string) error

	// list returns keys that begin with prefix and follow after, in order, at most n; 0
	// for all.
	list(ctx context.Context, prefix, after string, n int) ([]string, error)

	// versions reports whether the bucket keeps old versions; false if it does not tell.
	versions(ctx context.Context) bool

	close()
}

// An object is what a request tells of an object.
type object struct {
	data    []byte
	tag     string
	version string // "" in a bucket that keeps no old versions
}

// The answers of a bucket.
var (
	errAbsent  = errors.New("there is no such object")
	errTaken   = errors.New("the object is another than the condition says")
	errRange   = errors.New("the object is shorter")
	errRefused = errors.New("the service refused the request") // wraps nothing was written
)

// service is a bucket of an S3-compatible service.
type service struct {
	client    minio.Core
	bucket    string
	transport *http.Transport
}

func (o *Options) connect(t target) (bucket, error) {
	transport, err := minio.DefaultTransport(!o.Insecure)
	if err != nil {
		return nil, err
	}
	transport.MaxIdleConnsPerHost = 2 * parallel
	creds := credentials.NewStaticV4(o.AccessKey, o.SecretKey, o.SessionToken)
	if o.AccessKey == "" {
		creds = credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		})
	}
	region := o.Region
	if region == "" && !strings.HasSuffix(o.Endpoint, "amazonaws.com") {
		region = "us-east-1"
	}
	client, err := minio.NewCore(o.Endpoint, &minio.Options{
		Creds: creds, Secure: !o.Insecure, Region: region, Transport: transport, MaxRetries: 1,
	})
	if err != nil {
		return nil, err
	}
	return &service{client: *client, bucket: t.bucket, transport: transport}, nil
}

func (s *service) get(ctx context.Context, key string, from, n int64) (object, error) {
	var opts minio.GetObjectOptions
	if n > 0 {
		if err := opts.SetRange(from, from+n-1); err != nil {
			return object{}, err
		}
	}
	body, info, _, err := s.client.GetObject(ctx, s.bucket, key, opts)
	if err != nil {
		return object{}, answer(err)
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(body)
	return object{data, info.ETag, info.VersionID}, err
}

func (s *service) put(ctx context.Context, key string, data []byte, tag string) (object, error) {
	opts := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true} // it is given below
	if tag == "" {
		opts.SetMatchETagExcept("*")
	} else {
		opts.SetMatchETag(tag)
	}
	sum, digest := md5.Sum(data), sha256.Sum256(data)
	info, err := s.client.PutObject(ctx, s.bucket, key, bytes.NewReader(data), int64(len(data)),
		base64.StdEncoding.EncodeToString(sum[:]), hex.EncodeToString(digest[:]), opts)
	err = answer(err)
	if tag != "" && errors.Is(err, errAbsent) {
		err = errTaken
	}
	return object{nil, info.ETag, info.VersionID}, err
}

func (s *service) remove(ctx context.Context, key string) error {
	err := answer(s.client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{}))
	if errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

func (s *service) list(ctx context.Context, prefix, after string, n int) (keys []string, err error) {
	owner := false
	opts := minio.ListObjectsOptions{Prefix: prefix, Recursive: true, StartAfter: after, MaxKeys: n, FetchOwner: &owner}
	for o := range s.client.ListObjectsIter(ctx, s.bucket, opts) {
		if o.Err != nil {
			return nil, answer(o.Err)
		}
		keys = append(keys, o.Key)
		if len(keys) == n {
			break
		}
	}
	return keys, nil
}

func (s *service) versions(ctx context.Context) bool {
	v, err := s.client.GetBucketVersioning(ctx, s.bucket)
	return err == nil && v.Enabled()
}

func (s *service) close() { s.transport.CloseIdleConnections() }

// answer turns a refusal into one of our errors. It passes on what leaves the outcome open.
func answer(err error) error {
	var r minio.ErrorResponse
	if err == nil || !errors.As(err, &r) {
		return err
	}
	switch {
	case r.Code == minio.NoSuchKey:
		return errAbsent
	case r.StatusCode == http.StatusPreconditionFailed, r.Code == minio.PreconditionFailed:
		return errTaken
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable, r.Code == "InvalidRange":
		return errRange
	case r.StatusCode == http.StatusConflict, r.StatusCode == http.StatusTooManyRequests, r.Code == "RequestTimeout", r.Code == "SlowDown":
		return err // another request for the key is on its way, or too many are: ask again
	case r.StatusCode >= 400 && r.StatusCode < 500, r.StatusCode == http.StatusNotImplemented, r.StatusCode == http.StatusInsufficientStorage:
		return &refusal{r}
	}
	return err
}

// A refusal is an answer that says that nothing was done, and why.
type refusal struct{ answer minio.ErrorResponse }

func (r *refusal) Error() string        { return r.answer.Error() }
func (r *refusal) Unwrap() error        { return r.answer }
func (r *refusal) Is(target error) bool { return target == errRefused }
