package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed assets templates
var files embed.FS

// An asset is a file of assets. Browsers keep it forever, because its URL has its hash.
type asset struct {
	kind   string // its media type
	hash   string
	text   []byte
	packed []byte // by gzip; nil if that does not help
}

// assets are the assets by name.
type assets map[string]*asset

// readAssets reads the embedded assets. An error is a mistake in this package.
func readAssets() (assets, error) {
	all := assets{}
	entries, err := fs.ReadDir(files, "assets")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		text, err := files.ReadFile("assets/" + entry.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		all[entry.Name()] = &asset{kind: mediaType(entry.Name()), hash: hex.EncodeToString(sum[:8]), text: text, packed: packed(text)}
	}
	return all, nil
}

// mediaType is the media type of a file. It does not depend on the tables of the system.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// packed is a text packed by gzip; nil if it does not get smaller.
func packed(text []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err = w.Write(text); err != nil || w.Close() != nil || out.Len() >= len(text) {
		return nil
	}
	return out.Bytes()
}

// url is the path of an asset, with its hash; "" for an unknown one.
func (a assets) url(name string) string {
	if one := a[name]; one != nil {
		return "/assets/" + name + "?v=" + one.hash
	}
	return ""
}

// serve answers GET /assets/{file}.
func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	one := a[r.PathValue("file")]
	if one == nil {
		http.NotFound(w, r)
		return
	}
	h, body := w.Header(), one.text
	h.Set("Content-Type", one.kind)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == one.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if one.packed != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
			body = one.packed
		}
	}
	answer(w, r, `"`+one.hash+`"`, body)
}

// acceptsGzip tells whether a client reads gzip. A client that gives it no weight gets plain
// text.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == "gzip" {
			weight = strings.ReplaceAll(weight, " ", "")
			return weight != "q=0" && !strings.HasPrefix(weight, "q=0.0")
		}
	}
	return false
}

// answer answers a request with a body, or says that the client's copy with this tag is still
// right.
func answer(w http.ResponseWriter, r *http.Request, tag string, body []byte) {
	if tag != "" {
		w.Header().Set("ETag", tag)
		if isCurrent(r, tag) {
			w.Header().Del("Content-Encoding")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // fails only for a client that has gone
}

// isCurrent tells whether a client has what the tag names.
func isCurrent(r *http.Request, tag string) bool {
	for one := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}
