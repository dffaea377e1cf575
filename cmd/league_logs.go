package cmd

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/config/userfile"
	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// newLeagueLogs makes 'evenodd league logs'.
func newLeagueLogs(o *leagueCommand) *cobra.Command {
	output := ""
	c := &cobra.Command{
		Use:   "logs AGENT",
		Short: "Write an archive of one agent: log, events, results, transcripts",
		Long: `Write an archive (zip) of one agent, which contains no tokens:

    log.jsonl        its log, if it has the manager's data folder, and the
                     manager's log lines about it
    journal.jsonl    the events of the journal about it
    results.csv      its matches with their results
    matches/*.json   its matches with their transcripts, also annulled attempts

Standard error lists the matches without a transcript.`,
		Example: examples(
			"Write P01.zip", "evenodd league logs P01",
			"Write another file", "evenodd league logs P01 -o alice.zip",
		),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: agentArgument,
		RunE: func(c *cobra.Command, args []string) error {
			a := &agentArchive{}
			err := o.withLeague(c.Context(), nil, func(r *leagueRecord, _ record.Source) (err error) {
				a.id, err = r.FindAgent(args[0])
				return err
			})
			if err != nil {
				return err
			}
			a.about = map[string]bool{a.id: true}
			return o.withLeague(c.Context(), a.collect, func(r *leagueRecord, from record.Source) error {
				a.leagueRecord = r
				return o.logs(c.Context(), a, from, cmp.Or(output, a.id+".zip"))
			})
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "the archive (default: AGENT.zip)")
	return c
}

// logs writes the archive of an agent.
func (o *leagueCommand) logs(ctx context.Context, a *agentArchive, from record.Source, output string) error {
	err := a.write(ctx, from)
	if err == nil {
		err = userfile.Write(output, a.file.Bytes(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot write the archive of %s: %w", a.Ref(a.id), err)
	}
	for _, problem := range a.missing {
		o.note("%s", problem)
	}
	return show(o.out, o.format, struct {
		head

		AgentID     string `json:"agent_id"`
		File        string `json:"file"`
		Matches     int    `json:"matches"`
		Transcripts int    `json:"transcripts"`
	}{headOf(o.leagueID), a.id, output, len(a.matches), a.transcripts}, func(w io.Writer) error {
		return printLine(w, "%s: the log, the events, %s and %s of %s", output,
			words.Counted(len(a.matches), "result"), words.Counted(a.transcripts, "transcript"), a.Ref(a.id))
	})
}

// An agentArchive collects the records of one agent.
type agentArchive struct {
	*leagueRecord // nil until all events are collected

	id          string
	about       map[string]bool // the agent and its matches
	events      [][]byte        // in the form of journal.Public
	matches     []record.Match
	transcripts int
	missing     []string // reasons why it lacks transcripts
	file        bytes.Buffer
	zip         *zip.Writer // to file
}

// collect keeps an event that is about the agent.
func (a *agentArchive) collect(r *leagueRecord, e *journal.Event, line string) {
	switch d := e.Data.(type) {
	case *journal.RoundAnnounced:
		if player, ok := r.PlayerIndex(a.id); ok {
			if _, number, plays := r.Opponent(d.RoundID, player); plays {
				a.about[league.MatchID{Round: d.RoundID, Number: number}.String()] = true
			}
		}
	case *journal.MatchAssigned:
		if d.RefereeID == a.id {
			a.about[d.MatchID.String()] = true
		}
	}
	public, _ := journal.Public([]byte(line)) // the fold has read the line
	for id := range a.about {
		if strings.Contains(line, `"`+id+`"`) {
			a.events = append(a.events, protocol.HideTokens(public))
			return
		}
	}
}

// write writes the archive.
func (a *agentArchive) write(ctx context.Context, from record.Source) error {
	a.zip = zip.NewWriter(&a.file)
	all, _ := a.Schedule(0) // fails only for an unknown round
	a.matches = lists.Filter(all, func(m record.Match) bool {
		return m.RoundID <= a.Round && (m.PlayerAID == a.id || m.PlayerBID == a.id || a.about[m.MatchID])
	})
	var log, results bytes.Buffer
	for offset, last := int64(0), false; !last; {
		lines, next, err := from.Log(ctx, a.id, offset)
		if err != nil {
			return err
		}
		for _, line := range lines {
			log.WriteString(line + "\n")
		}
		last = next <= offset
		offset = next
	}
	_ = printCSV(&results, withNames(matchesCSV(a.matches), a.NameOf)) // writing to memory never fails
	a.add("log.jsonl", log.Bytes())
	a.add("journal.jsonl", append(bytes.Join(a.events, []byte{'\n'}), '\n'))
	a.add("results.csv", results.Bytes())
	for i := range a.matches {
		if err := a.writeMatch(ctx, from, &a.matches[i]); err != nil {
			return err
		}
	}
	return a.zip.Close()
}

// add adds a file to the archive.
func (a *agentArchive) add(name string, content []byte) {
	w, _ := a.zip.Create(name) // in memory
	_, _ = w.Write(content)
}

// writeMatch adds the attempts at a match that have a result.
func (a *agentArchive) writeMatch(ctx context.Context, from record.Source, row *record.Match) error {
	id, _ := league.ParseMatchID(row.MatchID)
	wanted := append(lists.Map(row.Annulled, func(o record.AnnulledOutcome) int { return o.Attempt }), row.Attempt)
	slices.Sort(wanted)
	for _, attempt := range slices.Compact(wanted) {
		if attempt < 1 || attempt > len(a.Match(id).Attempts) {
			continue // nobody played
		}
		doc, err := from.Transcript(ctx, league.Attempt{MatchID: id, Number: attempt})
		if ctx.Err() != nil {
			return interrupted("No archive was written.")
		}
		if err != nil {
			why := err.Error()
			if errors.Is(err, fs.ErrNotExist) {
				why = "no file in the data folder has it"
			}
			problem := fmt.Sprintf("no transcript of attempt %d at %s: %s", attempt, row.MatchID, why)
			a.missing = append(a.missing, problem)
			continue
		}
		name := row.MatchID
		if attempt != row.Attempt {
			name = fmt.Sprintf("%s.a%d", name, attempt)
		}
		var text bytes.Buffer
		_ = printJSON(&text, doc) // what came from JSON
		a.add("matches/"+name+".json", protocol.HideTokens(text.Bytes()))
		a.transcripts++
	}
	return nil
}
