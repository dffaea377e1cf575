package cmd

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/player"
	"evenodd/player/strategy/person"
	"evenodd/transport/http"
)

// A desk is where a person plays in a browser: the page of its player.
type desk struct {
	name   string // of the player
	person *person.Person
	access *page.Access
	page   *page.Play
	url    string // of the page, for browsers
	opened bool   // other computers reach it
	plain  bool   // without TLS
}

// openDesk makes the page of a person's player at a listener.
func openDesk(ctx context.Context, who *person.Person, folder store.Folder, name string, a *address, l net.Listener,
	o page.PlayOptions) (*desk, error) {
	access, err := page.OpenAccess(folder, name)
	if err != nil {
		return nil, fmt.Errorf("the file that knows the browser of %s cannot be used: %w; delete it to get a new link", name,
			err)
	}
	at := l.Addr().(*net.TCPAddr)
	o.Person, o.Access, o.Port, o.Secure = who, access, at.Port, a.tls != nil
	shown, err := page.NewPlay(o)
	if err != nil {
		return nil, err
	}
	return &desk{name: name, person: who, access: access, page: shown, opened: !at.IP.IsLoopback(), plain: a.tls == nil,
		url: strings.TrimSuffix(a.shownURL(l, a.urls(ctx, l)), http.Path) + "/play"}, nil
}

// mounts are the mounts of the page.
func (d *desk) mounts() []http.Mount { return pageMounts(d.page.Routes(), pageQuota()) }

// link is the link that opens the page once; "" if it was used.
func (d *desk) link() string {
	code, _, _ := d.access.Code()
	if code == "" {
		return ""
	}
	return d.url + "#" + code
}

// introduce prints the link, and for another device its QR code.
func (d *desk) introduce(s streams) {
	link := d.link()
	if link == "" {
		s.note("%s plays at %s, in the browser that has opened it before. For another one, type n and Enter here.", d.name,
			d.url)
		return
	}
	s.note("%s plays at %s", d.name, link)
	if !d.opened {
		return
	}
	if isTerminal(s.err) {
		printCode(s.err, link)
	}
	if d.plain {
		s.note("This connection is not encrypted: others in the network can read the link, the moves and what the player " +
			"sees. --tls-cert and --tls-key encrypt it.")
	}
}

// renew makes a new link, which ends the access of the browser that has the page.
func (d *desk) renew(s streams) {
	if err := d.access.Renew(); err != nil {
		printError(s.err, fmt.Errorf("there is no new link: %w", err))
		return
	}
	d.introduce(s)
}

// leave shows the person the end of the player, and waits until the browser has it.
func (d *desk) leave(p *player.Player) {
	select {
	case <-p.Done():
		d.person.End("The league is over.", false)
		d.page.Finish(context.Background())
	default:
		d.person.End("The player stops.", false)
	}
}

// renewLinks makes a new link when somebody types n and Enter on a terminal; with several desks, n and the number of
// one.
func renewLinks(ctx context.Context, s streams, desks ...*desk) {
	if !isTerminal(os.Stdin) {
		return
	}
	go func() { // ends with the process, at the latest
		for line := range typed(ctx) {
			switch command, number, _ := strings.Cut(strings.ToLower(strings.TrimSpace(line)), " "); {
			case command != "n":
			case len(desks) == 1:
				desks[0].renew(s)
			default:
				n, err := strconv.Atoi(number)
				if err != nil || n < 1 || n > len(desks) {
					s.note("n 1 makes a new link for %s, n 2 for %s.", desks[0].name, desks[1].name)
					continue
				}
				desks[n-1].renew(s)
			}
		}
	}()
}

// typed returns a channel with the lines of standard input, which is closed at its end.
func typed(ctx context.Context) <-chan string {
	lines := make(chan string)
	go func() { // ends with the process, at the latest
		defer close(lines)
		for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
