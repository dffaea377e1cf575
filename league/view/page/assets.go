package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed assets templates export
var files embed.FS

// An asset is a file of assets. Browsers keep it forever, because its URL has its hash.
type asset struct {
	kind string // its media type
	hash string
	text []byte
}

// assets are the assets by name.
type assets map[string]*asset

// readAssets reads the embedded assets.
func readAssets() assets {
	all := assets{}
	entries, _ := files.ReadDir("assets") // embedded files can be read
	for _, entry := range entries {
		text, _ := files.ReadFile("assets/" + entry.Name())
		sum := sha256.Sum256(text)
		kind := cmp.Or(mediaTypes[path.Ext(entry.Name())], "text/plain; charset=utf-8")
		all[entry.Name()] = &asset{kind: kind, hash: hex.EncodeToString(sum[:8]), text: text}
	}
	return all
}

// mediaTypes are the media types of files by extension, which do not depend on the tables of the system.
var mediaTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
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
	h := w.Header()
	h.Set("Content-Type", one.kind)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == one.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("ETag", `"`+one.hash+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(one.text))
}
