package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// openLeague opens the files of the league, when this manager leads it. Call end when its manager has ended, with the
// error of the command.
func (p *managerProcess) openLeague(ctx context.Context, s streams) (end func(problem *error), err error) {
	j, closeStream, err := p.openStream(ctx, p.log)
	if err != nil {
		return nil, err
	}
	if p.lead, err = p.awaitLeadership(ctx, s, j); err == nil && p.newLeague {
		err = p.archiveUnfinished(s)
	}
	if err == nil {
		err = p.openFiles(s, p.newLeague)
	}
	if err != nil {
		p.lead.end()
		closeStream()
		return nil, err
	}
	return func(problem *error) {
		if p.Files != nil {
			closeFiles(p.Files, problem)
		}
		p.lead.end()
		closeStream()
	}, nil
}

// archiveUnfinished moves the league that this manager would continue without --new-league to the archive, unless the
// user has chosen an id. A league that is over stays in the folder, beside the new one.
func (p *managerProcess) archiveUnfinished(s streams) error {
	dir := store.In(p.data)
	if _, err := os.Stat(dir.Journal(p.LeagueID)); p.data == "" || err == nil || !league.HasDate(p.LeagueID) {
		return nil
	}
	old := lastUnfinished(leaguesNamed(dir, p.leagueSettings.name))
	if old == nil || old.running {
		return nil
	}
	archived, err := manager.Archive(dir, old.id)
	if err == nil {
		s.note("The old league is in %s.", archived)
	}
	return err
}

// openFiles opens the files of the league. They end with the leadership of this process.
func (p *managerProcess) openFiles(s streams, fresh bool) (err error) {
	var j *sharedJournal
	if p.lead != nil {
		if j = p.lead.journal; fresh {
			if err := j.reopen(true); err != nil {
				return err
			}
		}
	}
	if p.Files, err = openFiles(s, p.data, p.LeagueID, fresh, j.shared()); err != nil || p.lead == nil {
		return err
	}
	files := p.Files
	context.AfterFunc(p.lead.ended, func() {
		if err := p.lead.lost(); err != nil {
			files.Fail(err)
		}
	})
	return nil
}

// openFiles opens the files of a league in a data folder, and reports what it found;
// it returns nil without a folder. Shared is nil for a journal in the folder.
func openFiles(s streams, data, leagueID string, fresh bool, shared *manager.Shared) (*manager.Files, error) {
	if data == "" {
		if fresh {
			return nil, usage("--new-league needs the folder of the old league: set --data")
		}
		return nil, nil //nolint:nilnil // without a folder there are no files
	}
	if !protocol.ValidLeagueID(leagueID) {
		return nil, usage("--league-id %q: must be 1 to 64 letters, digits, dots, dashes and underscores", leagueID)
	}
	_, stop := s.showProgress("reading the league")
	files, archived, err := manager.OpenFiles(store.In(data), leagueID, fresh, shared)
	stop()
	if archived != "" && shared != nil && !fresh {
		s.note("The journal in %s was not the beginning of that in NATS.", data)
	}
	if archived != "" {
		s.note("The old league is in %s.", archived)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot store the league in %s: %w", data, err)
	}
	if files.Torn != nil {
		s.note("%s", files.Torn)
	}
	if files.LostTail() {
		s.note("The journal of league %s lacks events that were on disk before: its end was cut off, or an older "+
			"journal was restored. The league resumes from the events that are left, and the journal records this.",
			leagueID)
	}
	return files, nil
}

// closeFiles closes the files of a league. It adds an error to that of the command, unless both say the same.
func closeFiles(files *manager.Files, problem *error) {
	if err := files.Close(); err != nil && (*problem == nil || err.Error() != (*problem).Error()) {
		*problem = errors.Join(*problem, err)
	}
}

// secretOf returns the secret of a league in a data folder: in its private file, or if the journal is in NATS, by the
// file of --secret-file.
func secretOf(folder store.Folder, leagueID, secretFile string) (secret [32]byte, err error) {
	created := readEnds(folder, leagueID).created
	switch {
	case created == nil || created.SecretNonce == "":
		return folder.Secret(leagueID, true)
	case secretFile == "":
		return secret, errors.New("the journal of the league is in NATS: set --secret-file as its manager has it")
	}
	master, err := readMaster(secretFile)
	if err != nil {
		return secret, err
	}
	return master.Secret(leagueID, created.SecretNonce)
}
