package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"evenodd/config/userfile"
	"evenodd/league/journal/journalstream"
	"evenodd/league/manager"
	"evenodd/league/protocol"
)

// journalNATS is the place of a journal that is not in the data folder.
const journalNATS = "nats"

// journalOptions say where the journal of a league is.
type journalOptions struct {
	place    string   // folder or journalNATS
	creds    string   // path; "" for that of --nats-creds
	secret   string   // path of the file with the master secret
	monitors []string // URLs of the monitoring ports of NATS servers
}

// flags defines the flags.
func (o *journalOptions) flags(f *pflag.FlagSet) {
	choiceFlag(f, &o.place, "journal", "folder", "where the journal of the league is: in the data folder, or in a "+
		"stream of the --nats servers with a copy in the data folder (docs/operators.md)", "folder", journalNATS)
	f.StringVar(&o.creds, "nats-journal-creds", "", "`file` with the key or the credentials of the user that writes the "+
		"journal (default: journal.nk in the folder --nats-creds)")
	secretFileFlag(f, &o.secret)
	f.StringSliceVar(&o.monitors, "nats-monitor", nil, "`URL` of the monitoring port of a NATS server, such as "+
		"http://192.0.2.7:8222, to warn if it syncs its disk late; may be repeated, once for each server")
}

// secretFileFlag defines the flag of the commands that derive the secret of a league.
func secretFileFlag(f *pflag.FlagSet, path *string) {
	f.StringVar(path, "secret-file", "", "with a journal in NATS: `file` of 32 or more random bytes, the same for all "+
		"managers of the league, that only its owner can read")
}

// check returns an error for flags that do not fit each other.
func (o *journalOptions) check(m *managerOptions) error {
	if o.place != journalNATS {
		if m.standby || o.creds != "" || o.secret != "" || len(o.monitors) > 0 {
			return usage("--standby, --nats-journal-creds, --secret-file and --nats-monitor need --journal nats")
		}
		return nil
	}
	users, err := os.Stat(m.nats.creds)
	keys := err == nil && users.IsDir()
	switch {
	case !m.nats.on():
		return usage("--journal nats needs --nats")
	case m.data == "":
		return usage("--journal nats needs --data: each manager has a copy of the journal in its own folder")
	case o.secret == "":
		return usage("--journal nats needs --secret-file, a file of 32 random bytes that all managers of the league have: " +
			"(umask 077; head -c 32 /dev/urandom > league.secret)")
	case o.creds == "" && m.nats.creds != "" && !keys:
		return usage("--journal nats needs --nats-journal-creds: the user that calls agents must not be able to write the " +
			"journal")
	case o.creds == "" && keys:
		o.creds = m.nats.creds
	}
	return nil
}

// readMaster reads the file of --secret-file.
func readMaster(path string) (protocol.MasterSecret, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("--secret-file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, usage("--secret-file %s: others can read it: chmod 600 %s", path, path)
	}
	secret, err := userfile.Read(path, 4<<10)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--secret-file: %s: %w", path, err)
	case len(secret) < protocol.MinMaster:
		return nil, usage("--secret-file %s: it has %d bytes and must have %d or more, all random", path, len(secret),
			protocol.MinMaster)
	}
	return secret, nil
}

// A sharedJournal is the journal of a league in NATS, which several managers share.
type sharedJournal struct {
	master protocol.MasterSecret
	open   func(fresh bool) (*journalstream.Stream, error)
	stream atomic.Pointer[journalstream.Stream] // the one in use
}

// openStream opens the journal of a league in NATS; nil for one in the folder. Call end when it is closed.
func (o *managerOptions) openStream(ctx context.Context, log zerolog.Logger) (j *sharedJournal, end func(), err error) {
	if o.journal.place != journalNATS {
		return nil, func() {}, nil
	}
	j = &sharedJournal{}
	if j.master, err = readMaster(o.journal.secret); err != nil {
		return nil, nil, err
	}
	user := natsUser{&natsOptions{urls: o.nats.urls, creds: o.journal.creds, ca: o.nats.ca}, protocol.NATSJournalName, nil}
	conn, err := user.connect(&nodeOptions{log: log}, func() {})
	if err != nil {
		return nil, nil, err
	}
	j.open = func(fresh bool) (*journalstream.Stream, error) {
		return journalstream.Open(ctx, conn, journalstream.Options{
			LeagueID: o.LeagueID, Fresh: fresh, Patience: stopPatience + shutdownPatience, Log: log,
		})
	}
	if err := j.reopen(false); err != nil {
		conn.Close()
		return nil, nil, err
	}
	if o.journal.creds == "" {
		log.Warn().Str("event_type", "JOURNAL_UNPROTECTED").Msg(
			"without users on the NATS servers, anyone who reaches them can write the journal and read all calls")
	}
	o.journal.warnOfSyncs(ctx, log)
	return j, conn.Close, nil
}

// reopen opens the newest stream of the league, or begins a new one if fresh is set.
func (j *sharedJournal) reopen(fresh bool) error {
	stream, err := j.open(fresh)
	if err == nil {
		j.stream.Store(stream)
	}
	return err
}

// shared is the journal for the files of a manager; nil for one in the folder.
func (j *sharedJournal) shared() *manager.Shared {
	if j == nil {
		return nil
	}
	return &manager.Shared{Stream: j.stream.Load(), Master: j.master}
}

// warnOfSyncs warns if a NATS server may lose what it has acknowledged. A server tells it at its monitoring port only.
func (o *journalOptions) warnOfSyncs(ctx context.Context, log zerolog.Logger) {
	if len(o.monitors) == 0 {
		log.Warn().Str("event_type", "JOURNAL_SYNC_UNKNOWN").Msg("it is not known how often the NATS servers sync their " +
			"disks: unless they have sync_interval: always, a power cut of the servers can lose results of the last two " +
			"minutes; --nats-monitor checks it")
	}
	for _, server := range o.monitors {
		interval, always, err := syncInterval(ctx, server)
		switch {
		case err != nil:
			log.Warn().Err(err).Str("server", server).Str("event_type", "JOURNAL_SYNC_UNKNOWN").
				Msg("it is not known how often this NATS server syncs its disk")
		case !always:
			log.Warn().Str("server", server).Stringer("sync_interval", interval).Str("event_type", "JOURNAL_SYNC_LATE").Msg(
				"a power cut of the NATS servers can lose results of so long a time: set sync_interval: always")
		}
	}
}

// syncInterval asks a NATS server at its monitoring port how often it syncs its disk.
func syncInterval(ctx context.Context, server string) (interval time.Duration, always bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, shutdownPatience)
	defer cancel()
	at := strings.TrimSuffix(server, "/") + "/jsz?config=true"
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return 0, false, err
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(r.Body, maxFromManager))
	var answer struct {
		Config struct {
			Always   bool  `json:"sync_always"`
			Interval int64 `json:"sync_interval"` // in nanoseconds
		} `json:"config"`
	}
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err == nil && answer.Config.Interval == 0 && !answer.Config.Always {
		err = errors.New("it does not say: JetStream is off, or this is another server")
	}
	return time.Duration(answer.Config.Interval), answer.Config.Always, err
}
