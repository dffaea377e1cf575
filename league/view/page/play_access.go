package page

import (
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
)

// An Access decides which browser plays for a person. A code of one use opens the page; from then on a cookie does, in
// the browser that has shown the code. Both follow from a secret of the player and a generation, so that only these and
// whether the code was used are stored, in the player's private folder. A new generation ends the cookie and makes
// another code. Safe for concurrent use.
type Access struct {
	disk disk.Disk
	path string // "" for no file

	mu      sync.Mutex
	state   store.Person
	secret  protocol.Secret
	changed chan struct{} // closed with the generation
	used    chan struct{} // closed when the code is used
}

// Errors of a code.
var (
	errOtherDevice = errors.New("this player is open on another device")
	errWrongCode   = errors.New("this link is not valid any more: open the newest one")
)

// OpenAccess reads the access to the player of a person, or makes a new one. Without a folder it lasts as long as the
// process.
func OpenAccess(folder store.Folder, player string) (*Access, error) {
	a := &Access{changed: make(chan struct{}), used: make(chan struct{})}
	if !folder.IsZero() {
		a.disk, a.path = folder.Disk, folder.Identity("person", player)
		switch known, err := store.Read[store.Person](a.disk, a.path); {
		case err == nil:
			a.state = *known
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	secret, ok := protocol.ParseSecret(a.state.Secret)
	if !ok {
		_, _ = crand.Read(secret[:]) // never fails
		a.state = store.Person{DisplayName: player, Secret: secret.Hex(), Generation: 1}
	}
	if a.secret = secret; a.state.Used {
		close(a.used)
	}
	if err := a.save(); err != nil {
		return nil, err
	}
	return a, nil
}

// save stores the state. The caller holds a.mu, or has just made the Access.
func (a *Access) save() error {
	if a.path == "" {
		return nil
	}
	a.state.Header = store.NewHeader(protocol.FormatTimestamp(time.Now()))
	return store.WritePrivate(a.disk, a.path, &a.state)
}

// derived is the HMAC of a purpose and the generation under the secret. a.mu is held.
func (a *Access) derived(purpose string) []byte {
	mac := hmac.New(sha256.New, a.secret[:])
	_, _ = mac.Write([]byte("evenodd-play-" + purpose + "-v1/" + strconv.Itoa(a.state.Generation))) // never fails
	return mac.Sum(nil)
}

// code is that of this generation: 128 bits. a.mu is held.
func (a *Access) code() string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(a.derived("code")[:16])
}

// cookie is the value of the cookie of this generation. a.mu is held.
func (a *Access) cookie() string { return hex.EncodeToString(a.derived("cookie")) }

// Code returns the code that opens the page; "" if it was used. The channel is closed when that changes.
func (a *Access) Code() (code string, used, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.state.Used {
		code = a.code()
	}
	return code, a.used, a.changed
}

// Renew ends the access of the browser that has the page, and makes a new code.
func (a *Access) Renew() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.state
	a.state.Generation, a.state.Used = a.state.Generation+1, false
	if err := a.save(); err != nil {
		a.state = before
		return err
	}
	close(a.changed)
	if before.Used {
		a.used = make(chan struct{})
	}
	a.changed = make(chan struct{})
	return nil
}

// claim uses a code, and returns the value of the cookie. That the code is used is durable before.
func (a *Access) claim(code string) (cookie string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !protocol.SameToken(code, a.code()):
		return "", errWrongCode
	case a.state.Used:
		return "", errOtherDevice
	}
	a.state.Used = true
	if err := a.save(); err != nil {
		a.state.Used = false
		return "", err
	}
	close(a.used)
	return a.cookie(), nil
}

// admits tells whether a cookie opens the page. The channel is closed when that may change.
func (a *Access) admits(cookie string) (ok bool, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state.Used && protocol.SameToken(cookie, a.cookie()), a.changed
}
