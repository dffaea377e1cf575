package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/league/view/report"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

const leagues = "../../../testdata/leagues"

// folders are the data folders of earlier versions, by name.
func folders(t *testing.T) map[string]store.Folder {
	t.Helper()
	entries, err := os.ReadDir(leagues)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	all := map[string]store.Folder{}
	for _, e := range entries {
		all[e.Name()] = store.In(filepath.Join(leagues, e.Name()))
	}
	return all
}

// read reads the report of the only league of a folder.
func read(t *testing.T, folder store.Folder, agentID string) *report.Report {
	t.Helper()
	ids, err := filepath.Glob(filepath.Join(folder.Path, "data", "leagues", "*"))
	require.NoError(t, err)
	require.Len(t, ids, 1)
	r, err := report.Read(t.Context(), folder, report.Options{LeagueID: filepath.Base(ids[0]), Agent: agentID, Games: rules.NewRegistry(evenodd.Game{})})
	require.NoError(t, err)
	return r
}

// forms are all forms of a report, and of the sheets of all agents.
func forms(t *testing.T, folder store.Folder) map[string]string {
	t.Helper()
	r, all := read(t, folder, ""), map[string]string{}
	add := func(name string, document interface{ HTML(w io.Writer) error }) {
		text, err := json.Marshal(document)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, document.HTML(&b))
		all[name+".json"], all[name+".html"] = string(text), b.String()
	}
	add("report", r)
	for i := range r.Agents {
		s, err := read(t, folder, r.Agents[i].AgentID).Sheet(r.Agents[i].AgentID)
		require.NoError(t, err)
		add(r.Agents[i].AgentID, s)
	}
	return all
}

func TestReportHasNoTokensAndNoEndpoints(t *testing.T) {
	secret := regexp.MustCompile(`(tok|adm)-[a-z0-9]+-[A-Za-z0-9]{8}|://(localhost|127\.0\.0\.1|manager|P0|REF0|memory)|localhost:\d|127\.0\.0\.1|auth_token"|registration_code|"endpoint`)
	for name, folder := range folders(t) {
		t.Run(name, func(t *testing.T) {
			for form, text := range forms(t, folder) {
				assert.Empty(t, secret.FindAllString(text, 3), form)
			}
		})
	}
}

func TestSameFolderGivesSameBytes(t *testing.T) {
	for name, folder := range folders(t) {
		t.Run(name, func(t *testing.T) {
			first := forms(t, folder)
			assert.Equal(t, first, forms(t, folder))
		})
	}
}

// attributes are the data attributes of all elements of HTML that have one of them.
func attributes(text, required string) (all []map[string]string) {
	attribute := regexp.MustCompile(`data-([a-z]+)="([^"]*)"`)
	for _, tag := range regexp.MustCompile(`<[a-z][^>]*>`).FindAllString(text, -1) {
		found := map[string]string{}
		for _, pair := range attribute.FindAllStringSubmatch(tag, -1) {
			found[pair[1]] = html.UnescapeString(pair[2])
		}
		if _, ok := found[required]; ok {
			all = append(all, found)
		}
	}
	return all
}

// tableOf are the rows of the table of a class: the texts of the cells by the headings of their columns.
func tableOf(text, class string) (rows []map[string]string) {
	table := regexp.MustCompile(`(?s)<table class="` + class + `.*?</table>`).FindString(text)
	cell, tags := regexp.MustCompile(`(?s)<t[hd][ >].*?</t[hd]>`), regexp.MustCompile(`<[^>]*>`)
	var headings []string
	for _, row := range regexp.MustCompile(`(?s)<tr.*?</tr>`).FindAllString(table, -1) {
		cells := map[string]string{}
		for i, one := range cell.FindAllString(row, -1) {
			shown := strings.TrimSpace(html.UnescapeString(tags.ReplaceAllString(one, "")))
			if !strings.Contains(row, "<td") {
				headings = append(headings, shown)
			} else {
				cells[headings[i]] = shown
			}
		}
		if len(cells) > 0 {
			rows = append(rows, cells)
		}
	}
	return rows
}

func TestHTMLShowsTheNumbersOfTheJSON(t *testing.T) {
	for name, folder := range folders(t) {
		t.Run(name, func(t *testing.T) {
			r := read(t, folder, "")
			var b bytes.Buffer
			require.NoError(t, r.HTML(&b))
			text := b.String()

			if r.League.StartedAt != "" {
				rows := tableOf(text, "standings")
				require.Len(t, rows, len(r.Standings))
				for i, row := range rows {
					s := &r.Standings[i]
					want := fmt.Sprint(s.Points, " ", s.Played, s.Wins, s.Draws, s.Losses)
					assert.Equal(t, want, strings.Join([]string{row["Points"], row["Played"], row["W"], row["D"], row["L"]}, " "))
					assert.True(t, strings.HasSuffix(row["Player"], s.PlayerID))
				}
			}
			matches := attributes(text, "match")
			require.Len(t, matches, len(r.Matches))
			for i, row := range matches {
				m := &r.Matches[i]
				assert.Equal(t, []string{m.MatchID, m.Status, m.Winner()}, []string{row["match"], row["status"], row["winner"]})
			}
			if r.Statistics != nil {
				for i, row := range tableOf(text, "ratings") {
					assert.Equal(t, fmt.Sprint(math.Round(r.Statistics.Ratings[i].Rating)), row["Rating"])
				}
				assert.Contains(t, html.UnescapeString(text), r.Statistics.Told)
			}
			groups := attributes(text, "kind")
			require.Len(t, groups, len(r.Faults))
			for i, row := range groups {
				g := &r.Faults[i]
				assert.Equal(t, fmt.Sprint(g.AgentID, g.Kind, g.Code, g.Count, " ", g.Lost), fmt.Sprint(row["agent"], row["kind"], row["code"], row["count"], " ", row["lost"]))
			}
			assert.Len(t, attributes(text, "transcript"), len(r.Transcripts), "each conversation once")
			assert.Equal(t, r.Seal.State, attributes(text, "seal")[0]["seal"])
		})
	}
}

func TestCrossTableHasThePointsOfTheStandings(t *testing.T) {
	for name, folder := range folders(t) {
		t.Run(name, func(t *testing.T) {
			r := read(t, folder, "")
			for i := range r.Standings {
				s, sum, played := &r.Standings[i], 0, 0
				for _, h := range r.CrossTable[i].Against {
					sum, played = sum+h.Points, played+len(h.MatchIDs)
				}
				if s.Byes != nil {
					sum += *s.Byes * r.League.Scoring.Win
				}
				assert.Equal(t, s.Points, sum, s.PlayerID)
				assert.Equal(t, s.Played, played, s.PlayerID)
			}
			if n := len(r.Progress); n > 0 && r.League.CompletedAt != "" {
				for i := range r.Standings {
					points, _ := r.Progress[n-1].Points.Get(r.Standings[i].PlayerID)
					assert.Equal(t, r.Standings[i].Points, points)
				}
			}
		})
	}
}

// The file needs nothing but itself: no element names another resource, and the policy permits only the
// style and the script of the file.
func TestHTMLNeedsNoNetwork(t *testing.T) {
	for form, text := range forms(t, store.In(filepath.Join(leagues, "swiss"))) {
		if !strings.HasPrefix(text, "<!doctype html>") {
			continue
		}
		assert.NotRegexp(t, `<(link|img|iframe|object|embed|base|form)\b|<script [^>]*src|\bstyle="|\bon[a-z]+="|@import|url\(`, text, form)
		assert.NotRegexp(t, `href="[^#]`, text, form)
		assert.Regexp(t, `http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;sha256-[^"]*&#39;; script-src &#39;sha256-[^"]*; base-uri`, text, form)
	}
}

func TestSheetOfUnknownAgentIsRefused(t *testing.T) {
	r := read(t, store.In(filepath.Join(leagues, "finished")), "")
	_, err := r.Sheet("P99")
	assert.EqualError(t, err, `no agent "P99" has registered`)
}

func TestMatchWithAnotherKeyHasARemark(t *testing.T) {
	m := &record.Match{KeyMarks: []string{"P01 has had another key since event 57"}}
	assert.Equal(t, []string{"P01 has had another key since event 57"}, m.Remarks())
}
