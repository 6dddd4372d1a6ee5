// SPDX-License-Identifier: Apache-2.0

package s3store

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// Options say where a bucket is. Bucket must be given; the zero values of the other fields are good
// for AWS.
type Options struct {
	// Bucket is the bucket's name.
	Bucket string

	// Prefix is a path that all keys begin with, such as "kafka/orders". Empty is the bucket's
	// root.
	Prefix string

	// Endpoint is the server's address, "https://host:port" or "http://host:port"; without a scheme
	// it is https. Empty is AWS.
	Endpoint string

	// Region is the bucket's region. Empty is AWS_REGION or AWS_DEFAULT_REGION from the
	// environment; if both are empty, the store asks the server, which needs the right
	// s3:GetBucketLocation.
	Region string

	// PathStyle puts the bucket into the path of requests and not into the host name. It is the
	// default for servers other than AWS.
	PathStyle bool

	// AccessKeyFile and SecretKeyFile are files that hold one key each, as Kubernetes mounts
	// secrets. They are read once, by Open. The optional SessionTokenFile holds the token of
	// temporary keys. Empty takes the keys from elsewhere; see the package's comment.
	AccessKeyFile, SecretKeyFile, SessionTokenFile string

	// CredentialsFile is a shared file of the AWS tools, and Profile the profile in it. Empty are
	// AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, and AWS_PROFILE or "default".
	CredentialsFile, Profile string

	// Anonymous makes requests without keys.
	Anonymous bool

	// CAFile has certificates of authorities in PEM, which are trusted beside those of the system.
	CAFile string

	// StorageClass is that of new objects, such as "STANDARD_IA". Empty is the bucket's.
	StorageClass string

	// PartSize is the size of a part, and of the smallest body that is sent in parts. At least 5
	// MiB; it is raised for bodies of more than 10,000 parts. Zero is 16 MiB.
	PartSize int64

	// Concurrency is how many parts of one object are sent at a time, and how many HEAD requests a
	// List makes at a time. Zero is 4.
	Concurrency int

	host    string
	secure  bool
	wrapper func(http.RoundTripper) http.RoundTripper // of tests
}

// The limits of S3.
const (
	minPartSize = 5 << 20
	maxParts    = 10_000
)

// complete checks the options and fills in defaults. Its error joins all that is wrong.
func (o *Options) complete() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("s3store: "+format, args...)) }
	if err := s3utils.CheckValidBucketName(o.Bucket); err != nil {
		bad("bucket %q: %w", o.Bucket, err)
	}
	if (o.AccessKeyFile == "") != (o.SecretKeyFile == "") {
		bad("AccessKeyFile and SecretKeyFile belong together")
	}
	if o.Anonymous && o.AccessKeyFile != "" {
		bad("Anonymous needs no AccessKeyFile")
	}
	if o.PartSize == 0 {
		o.PartSize = 16 << 20
	}
	if o.PartSize < minPartSize || o.PartSize > 5<<30 {
		bad("PartSize is %d, must be from 5 MiB to 5 GiB", o.PartSize)
	}
	if o.Concurrency == 0 {
		o.Concurrency = 4
	}
	if o.Concurrency < 0 {
		bad("Concurrency is %d", o.Concurrency)
	}
	o.Region = cmp.Or(o.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	if err := o.parseEndpoint(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (o *Options) parseEndpoint() error {
	endpoint := cmp.Or(o.Endpoint, "https://s3.amazonaws.com")
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	// The endpoint is not shown: someone may have written a password into it.
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("s3store: Endpoint is not of the form https://host:port")
	}
	if u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("s3store: Endpoint has more than scheme, host and port; keys come from files or the environment")
	}
	o.host, o.secure = u.Host, u.Scheme == "https"
	return nil
}

// transport is the client's, with the certificates of CAFile and larger buffers: the default ones
// of 4 KiB cost a system call each.
func (o *Options) transport() (*http.Transport, error) {
	t, err := minio.DefaultTransport(o.secure)
	if err != nil {
		return nil, fmt.Errorf("s3store: %w", err)
	}
	t.WriteBufferSize = 64 << 10
	t.MaxIdleConnsPerHost = max(16, 2*o.Concurrency)
	if o.CAFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("s3store: CAFile: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("s3store: CAFile %s holds no certificate", o.CAFile)
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	return t, nil
}

// through is what requests go through.
func (o *Options) through(t *http.Transport) http.RoundTripper {
	if o.wrapper != nil {
		return o.wrapper(t)
	}
	return t
}

func (o *Options) credentials(transport http.RoundTripper) (*credentials.Credentials, error) {
	if o.Anonymous {
		return credentials.NewStatic("", "", "", credentials.SignatureAnonymous), nil
	}
	if o.AccessKeyFile == "" {
		return credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.EnvMinio{},
			&credentials.FileAWSCredentials{Filename: o.CredentialsFile, Profile: o.Profile},
			&credentials.IAM{Client: &http.Client{Transport: transport}},
		}), nil
	}
	var keys [3]string
	for i, name := range []string{o.AccessKeyFile, o.SecretKeyFile, o.SessionTokenFile} {
		if name == "" {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("s3store: reading a key: %w", err)
		}
		keys[i] = strings.TrimSpace(string(b))
	}
	return credentials.NewStaticV4(keys[0], keys[1], keys[2]), nil
}
