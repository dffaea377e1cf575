package manager

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// The limits of the delivery of transcripts. A transcript that does not fit stays with its
// referee.
const (
	deliveryTime   = 10 * time.Second // for one referee after a round
	deliveryCall   = 5 * time.Second
	deliveryMisses = 3        // calls in a row that may fail, until the referee is asked no more
	maxDelivery    = 64 << 10 // bytes of the records of one attempt
)

// A delivery stores the records of a referee that has its data folder elsewhere. Only the
// goroutine of the referee's notices uses it.
type delivery struct {
	file   *store.ResultsFile
	known  map[protocol.Attempt]bool // attempts that the file had whole at the start, and later ones of annulled and ruled matches
	round  int                       // the last round that was asked for
	missed int                       // calls in a row that failed
}

// deliverTranscripts is a notice to a referee: it asks for the records of the matches that
// have ended since the last time. It never delays a match, because assignments are no
// notices; the end of the league waits for it.
func (m *Manager) deliverTranscripts(ctx context.Context, round int) notice {
	return func(a *agent, full bool) {
		if full || m.files == nil {
			return
		}
		wanted := m.undelivered(a, round)
		if len(wanted) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, deliveryTime)
		defer cancel()
		for _, r := range wanted {
			err := m.deliverTranscript(ctx, a, r)
			if err == nil {
				a.delivery.missed = 0
				continue
			}
			m.options.Log.Info().Err(err).Stringer("match_id", r.MatchID).Str("referee_id", a.id).
				Str("event_type", protocol.EventTranscriptNotDelivered).Msg("a referee did not deliver the transcript of a match")
			if a.delivery.missed++; a.delivery.missed == deliveryMisses {
				a.delivery.round = math.MaxInt // the next manager asks again
			}
			if a.delivery.missed >= deliveryMisses || ctx.Err() != nil {
				return
			}
		}
	}
}

// undelivered returns the results of a referee up to a round whose records are not in the
// folder: none for a third-party referee, and for one that shares the folder.
func (m *Manager) undelivered(a *agent, round int) (wanted []*journal.MatchReported) {
	folder, league := m.files.Folder, m.options.LeagueID
	if _, err := os.Stat(folder.Results(league, a.id)); err == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.thirdParty(a.id) {
		return nil
	}
	if a.delivery == nil {
		a.delivery = &delivery{known: map[protocol.Attempt]bool{}}
		_, _, _ = store.ReadResults(folder.Delivered(league, a.id), func(_ *store.ResultsHeader, l *store.RecordLine) error {
			if id, ok := protocol.ParseMatchID(l.MatchID); ok && l.State == store.StateAcknowledged {
				a.delivery.known[protocol.Attempt{MatchID: id, Number: l.Attempt}] = true
			}
			return nil
		}) // without the file nothing is known
	}
	for ; a.delivery.round < round; a.delivery.round++ {
		for i := range m.state.Pairings(a.delivery.round + 1) {
			wanted = a.delivery.want(wanted, a.id, m.state.Match(protocol.MatchID{Round: a.delivery.round + 1, Number: i + 1}))
		}
	}
	for id := range m.organiser.decided {
		if id.Round <= a.delivery.round {
			wanted = a.delivery.want(wanted, a.id, m.state.Match(id))
		}
	}
	return wanted
}

// want adds the results of a match, annulled ones included, whose records the referee has not
// been asked for.
func (d *delivery) want(wanted []*journal.MatchReported, refereeID string, match *journal.Match) []*journal.MatchReported {
	add := func(r *journal.MatchReported) {
		if r != nil && r.RefereeID == refereeID && r.Number > 0 && !d.known[r.Attempt] {
			wanted = append(wanted, r)
		}
	}
	for i := range match.Annulled {
		add(match.Annulled[i].Report)
	}
	add(match.Report)
	return wanted
}

// deliverTranscript asks for the records of one attempt, and stores them. The referee is not
// trusted: the audit compares its records with the journal.
func (m *Manager) deliverTranscript(ctx context.Context, a *agent, r *journal.MatchReported) error {
	q := &protocol.ToolRequest{
		Envelope: m.stamp.Envelope("", r.Conversation()),
		LeagueID: m.options.LeagueID, MatchID: r.MatchID.String(), Attempt: r.Number,
	}
	answer, _, err := protocol.GetMatchTranscript.CallWithin(ctx, m.options.Caller, a.peer(), q, deliveryCall)
	if err != nil {
		return err
	}
	records, doc, err := checkDelivery(answer, q, a.id)
	if err != nil {
		return err
	}
	path := m.files.Folder.Delivered(q.LeagueID, a.id)
	if a.delivery.file == nil {
		none := func(*store.ResultsHeader, *store.RecordLine) error { return nil }
		if a.delivery.file, _, err = store.OpenResults(path, q.LeagueID, a.id, none); err != nil {
			return err
		}
	}
	line := 0
	for _, record := range records {
		if line, err = a.delivery.file.File.Append(record); err != nil {
			return err
		}
	}
	if err := a.delivery.file.Sync(line); err != nil { // a match file names only records that are there
		return err
	}
	m.mu.Lock()
	now := m.state.Match(r.MatchID).Report
	if m.organiser.decided[r.MatchID] {
		a.delivery.known[r.Attempt] = true
	}
	m.mu.Unlock()
	counts := now != nil && now.Attempt == r.Attempt
	if counts && doc.Lifecycle.State == store.StateAcknowledged && reflect.DeepEqual(doc.Result.GameResult, r.GameResult) {
		m.writeMatchFile(q.MatchID, store.WriteDerived, derivedFrom(doc, path))
	}
	return nil
}

// checkDelivery returns the lines of the records of an attempt and its document, or an error
// if the answer is about another attempt, too large, or no result. The lines have the bytes
// that the referee wrote, over which the transcript digest is.
func checkDelivery(answer *protocol.MatchTranscript, q *protocol.ToolRequest, refereeID string) (lines []jsontext.Value, doc *store.Match, err error) {
	var records []*store.Record
	size := 0
	for _, text := range answer.Records {
		if size += len(text); size > maxDelivery {
			return nil, nil, fmt.Errorf("the transcript has more than %d bytes", maxDelivery)
		}
		line := jsontext.Value(protocol.HideTokens(text))
		if err := line.Compact(jsontext.PreserveRawStrings(true)); err != nil { // a line has no line feed
			return nil, nil, fmt.Errorf("a record cannot be read: %w", err)
		}
		r, err := store.ReadRecord(line)
		if err != nil {
			return nil, nil, fmt.Errorf("a record cannot be read: %w", err)
		}
		if r.MatchID != q.MatchID || r.Attempt != q.Attempt {
			return nil, nil, fmt.Errorf("it delivered attempt %d at %.20q", r.Attempt, r.MatchID)
		}
		records, lines = append(records, r), append(lines, line)
	}
	header := &store.ResultsHeader{SchemaVersion: store.SchemaVersion, LeagueID: q.LeagueID, RefereeID: refereeID}
	if doc, err = store.MatchOf(header, records...); err == nil && doc.Result == nil {
		err = errors.New("the attempt has no result")
	}
	return lines, doc, err
}

// closeDeliveries closes the files of delivered records.
func (m *Manager) closeDeliveries() {
	for _, a := range m.referees {
		if a.delivery != nil && a.delivery.file != nil {
			_ = a.delivery.file.Close() // the referee has the records, and the next manager asks again
			a.delivery.file = nil
		}
	}
}
