package simulation_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/rulestest"
	"evenodd/rules/tictactoe"
)

const mutationSeed = 1

// configFile is the file below config. No random change is made in it: any is a note.
const configFile = "system.json"

// undetected are the members that affect no decision, each with the reason. The audit need
// not find a change of them. They are named as file (part): path, with * for indexes.
var undetected = []struct{ members, reason string }{
	{`^\w+\.json: last_updated$`, "the time at which the file was written; the events have their own"},
	{`: schema_version$`, "another version 1.x: readers accept each of them alike"},
	{`\(after the result\): `, "GAME_OVER, its acknowledgements and that of the report: the result comes before"},
	{`\(abandoned attempt\): `, "an attempt without a result; its commitment is in the journal"},
	{`^(match|attempt)\.json: lifecycle\.states\.\*\.at$`, "the times of the states; the messages have their own"},
	{`^history\.json: matches`, "an older entry, as after a crash: history.json derives from history.jsonl, which counts"},
	{`^history\.jsonl.*: line duplicated$`, "the same line says the same again"},
	{`^history\.jsonl: (entropy|draw_commitment) removed$`, "a player that learns a result from the manager has none; its decision has it, signed"},
	{`^history\.jsonl \(head\): line removed$`, "a player may miss a message; every later head covers the earlier ones"},
}

// TestEachMutationOfADataFolderIsFound changes one member or one line of one file at a
// time, as an attacker could, also with the hashes of the journal computed again. The audit
// finds each change, unless the member is in the list of those that affect no decision. A
// change is found if the audit has a finding; where a crash or the operator can leave the same, a note. So is a member
// that is added.
func TestEachMutationOfADataFolderIsFound(t *testing.T) {
	t.Parallel()
	leagues := mutationLeagues(t)
	r := rand.New(rand.NewPCG(mutationSeed, 0))
	missed, noted, where := map[string]int{}, map[string]int{}, map[string]*mutation{}
	mutations := 200
	if leaguetest.All() {
		mutations = 2000
	}
	for done := 0; done < mutations; {
		l := leagues[r.IntN(len(leagues))]
		m := l.mutate(r)
		if m == nil {
			continue
		}
		done++
		switch findings, notes := l.finds(t, m); {
		case findings:
		case notes:
			noted[m.member]++
		default:
			missed[m.member]++
			where[m.member] = m
		}
	}
	for _, member := range slices.Sorted(maps.Keys(noted)) {
		t.Logf("a note, because a crash can leave the same: %d of %s", noted[member], member)
		assert.NotContains(t, member, "journal.jsonl", "the manager writes the journal durably")
	}
	for _, u := range undetected {
		members, number := regexp.MustCompile(u.members), 0
		for member := range missed {
			if members.MatchString(member) {
				number += missed[member]
				delete(missed, member)
			}
		}
		t.Logf("not found, because it affects no decision: %d of %s: %s", number, u.members, u.reason)
	}
	for _, member := range slices.Sorted(maps.Keys(missed)) {
		assert.Fail(t, "a change is not found", "%d of %s, for example %s", missed[member], member, where[member])
	}
	leagues[0].addMembers(t)
}

// addMembers adds a member that no program writes to each kind of object in each kind of file. The short version tries
// a tenth of them.
func (l *mutationLeague) addMembers(t *testing.T) {
	t.Helper()
	number := 0
	for _, kind := range append(slices.Clone(l.kinds), configFile) {
		path := l.files[kind][0]
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		lines, tried := bytes.SplitAfter(bytes.TrimSpace(text), []byte("\n")), map[string]bool{}
		if !strings.HasSuffix(kind, ".jsonl") {
			lines = [][]byte{text}
		}
		for i, line := range lines {
			root := parse(jsontext.NewDecoder(bytes.NewReader(line)))
			whole := jsonNode{kind: '[', values: []jsonNode{root}}
			for _, p := range whole.places(nil) {
				node, member := &p.parent.values[p.index], kind+partOf(kind, line)+": "+pattern(p.path)
				if number++; node.kind != '{' || tried[member] || !leaguetest.All() && number%10 != 0 && kind != configFile {
					continue
				}
				tried[member] = true
				names, values := node.names, node.values
				node.names = append([]string{"colour"}, names...)
				node.values = append([]jsonNode{{kind: '"', raw: []byte(`"red"`)}}, values...)
				changed := slices.Clone(lines)
				changed[i] = append(whole.values[0].append(nil), '\n')
				node.names, node.values = names, values
				if kind == "match.json" || kind == "attempt.json" {
					member = kind + partOfMatch(line, changed[i]) + strings.TrimPrefix(member, kind)
				}
				m := &mutation{member: member, path: path, line: i + 1, changed: map[string][]byte{path: bytes.Join(changed, nil)}}
				found, noted := l.finds(t, m)
				assert.True(t, found || noted || affectsNothing(member), "an added member is not found: %s:%d: %s", path, i+1, member)
			}
		}
	}
}

// affectsNothing tells whether a member is one of undetected.
func affectsNothing(member string) bool {
	for _, u := range undetected {
		if regexp.MustCompile(u.members).MatchString(member) {
			return true
		}
	}
	return false
}

// A mutationLeague is the folder of a finished league.
type mutationLeague struct {
	dir   string
	clean map[string]bool     // the notes of the audit before any change
	files map[string][]string // names by kind
	kinds []string
}

func mutated(players, referees int, game string, tournament *journal.Tournament) (o simulation.Rules) {
	o.Players, o.Referees, o.GameType, o.Tournament = players, referees, game, tournament
	return o
}

func mutationLeagues(t *testing.T) (leagues []*mutationLeague) {
	t.Helper()
	games, program := mutationGames(), mutationProgram()
	for _, o := range []simulation.Options{
		{Seed: 7, Rules: mutated(6, 2, evenodd.Type, nil), Faults: "drop=0.1,delay=0.05,garbage=0.05,duplicate=0.1,referee-crash=REF01@R3,hang=P02@R4"},
		{Seed: 8, Rules: mutated(4, 1, tictactoe.Type, nil), Faults: "garbage=0.05"},
		{Seed: 9, Rules: mutated(5, 2, rockpaperscissors.Type, &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 3})},
		{Seed: 10, Rules: mutated(2, 1, "hidden", nil), Faults: "garbage=0.01"},
	} {
		if o.Programs = (map[string]referee.Program{"hidden": program}); o.GameType == "hidden" {
			o.Program = program
		}
		o.LeagueID, o.Games, o.Transport, o.Concurrency, o.Log, o.Sign = "cup", games, simulation.Wire, 1, zerolog.Nop(), true
		dir := leaguetest.TempFolder(t).Path
		require.NoError(t, os.Mkdir(filepath.Join(dir, "config"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config", configFile), []byte(`{"schema_version":"1.0.0","logs":{"max_files":3}}`), 0o600))
		o.Config = store.In(dir).ConfigDigests(o.LeagueID)
		synctest.Test(t, func(t *testing.T) {
			l := playStored(t, o, dir)
			require.Empty(t, l.report.Leagues[0].Findings)
		})
		leagues = append(leagues, newMutationLeague(t, dir))
	}
	return leagues
}

func mutationGames() rules.Registry {
	return rules.NewRegistry(evenodd.Game{}, rockpaperscissors.Game{}, tictactoe.Game{}, mutationProgram().Rules())
}

// mutationProgram is a game with draws, hidden cards and a board.
func mutationProgram() *rulestest.Program {
	p := rulestest.NewProgram("hidden", kuhnpoker.Game{})
	p.Change = func(history []rules.Entry, state *rules.State) (*rules.State, error) {
		state.Board = [][]string{{strconv.Itoa(len(history) % 10)}}
		return state, nil
	}
	return p
}

var (
	matchName   = regexp.MustCompile(`^R\d+M\d+\.json$`)
	attemptName = regexp.MustCompile(`^R\d+M\d+-a\d+\.json$`)
	logName     = regexp.MustCompile(`^REF\d+\.wal\.jsonl$`)
)

// newMutationLeague finds the files that a mutation may change: all except the secret ones,
// logs and the archive.
func newMutationLeague(t *testing.T, dir string) *mutationLeague {
	t.Helper()
	l := &mutationLeague{dir: dir, files: map[string][]string{}}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if e != nil && slices.Contains([]string{"private", "logs", "archive"}, e.Name()) {
				return fs.SkipDir
			}
			return err
		}
		kind := e.Name()
		switch {
		case matchName.MatchString(kind):
			kind = "match.json"
		case attemptName.MatchString(kind):
			kind = "attempt.json"
		case logName.MatchString(kind): // it has only the header
			return nil
		}
		l.files[kind] = append(l.files[kind], path)
		return nil
	}))
	l.kinds = slices.DeleteFunc(slices.Sorted(maps.Keys(l.files)), func(kind string) bool { return kind == configFile })
	l.clean = map[string]bool{}
	found, notes := l.audit(t)
	require.Empty(t, found)
	for _, n := range notes {
		l.clean[n.String()] = true
	}
	return l
}

func (l *mutationLeague) audit(t *testing.T) (findings, notes []audit.Finding) {
	t.Helper()
	program := mutationProgram()
	report, err := audit.Run(store.In(l.dir), audit.Options{Games: mutationGames(), Views: true,
		Programs: map[string]audit.Program{"hidden": {Digest: program.Digest(),
			Ask: func(history []rules.Entry) (*rules.State, error) {
				return program.Ask(t.Context(), history)
			}}}})
	if err != nil {
		return []audit.Finding{{Detail: err.Error()}}, nil
	}
	return report.Leagues[0].Findings, report.Leagues[0].Notes
}

// auditRulesAway audits the files without the program of a game.
func (l *mutationLeague) auditRulesAway(t *testing.T) {
	t.Helper()
	_, err := audit.Run(store.In(l.dir), audit.Options{Games: rules.NewRegistry(tictactoe.Game{}), Views: true})
	require.NoError(t, err)
}

// finds tells whether the audit of the changed files has findings, or notes that it did not
// have before. It restores the files.
func (l *mutationLeague) finds(t *testing.T, m *mutation) (finding, note bool) {
	t.Helper()
	for path, text := range m.changed {
		was, err := os.ReadFile(path)
		require.NoError(t, err)
		if strings.HasSuffix(path, ".jsonl") && !strings.Contains(m.member, ": crc32c") {
			text = leaguetest.Resealed(text)
		}
		require.NoError(t, os.WriteFile(path, text, 0o600))
		defer func() { require.NoError(t, os.WriteFile(path, was, 0o600)) }()
	}
	findings, notes := l.audit(t)
	return len(findings) > 0, slices.ContainsFunc(notes, func(n audit.Finding) bool { return !l.clean[n.String()] })
}

// A mutation is one change.
type mutation struct {
	member  string // file: path, with * for indexes
	path    string
	line    int
	was, is string
	changed map[string][]byte // new contents by path
}

func (m *mutation) String() string {
	return fmt.Sprintf("%s:%d: %.150s instead of %.150s", m.path, m.line, m.is, m.was)
}

// mutate makes a change of one random file; nil if what it selects cannot be changed.
func (l *mutationLeague) mutate(r *rand.Rand) *mutation {
	kind := l.kinds[r.IntN(len(l.kinds))]
	path := l.files[kind][r.IntN(len(l.files[kind]))]
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	m := &mutation{path: path, member: kind}
	lines := [][]byte{text}
	if strings.HasSuffix(kind, ".jsonl") {
		lines = bytes.SplitAfter(text, []byte("\n"))
		lines = lines[:len(lines)-1]
	}
	i := r.IntN(len(lines))
	m.line = i + 1
	begin := lines[i]
	m.member += partOf(kind, begin)
	if len(lines) > 1 && r.IntN(20) == 0 {
		m.was = string(begin)
		if m.member += ": line"; r.IntN(2) == 0 {
			lines, m.is, m.member = slices.Delete(slices.Clone(lines), i, i+1), "no line", m.member+" removed"
		} else {
			lines, m.is, m.member = slices.Insert(slices.Clone(lines), i, begin), "the line twice", m.member+" duplicated"
		}
	} else {
		changed := m.change(begin, r)
		if changed == nil {
			return nil
		}
		lines[i] = changed
		if kind == "match.json" || kind == "attempt.json" {
			m.member = kind + partOfMatch(begin, changed) + strings.TrimPrefix(m.member, kind)
		}
	}
	m.changed = map[string][]byte{path: bytes.Join(lines, nil)}
	if kind == "journal.jsonl" && r.IntN(2) == 0 {
		l.rechain(m, lines)
	}
	if bytes.Equal(m.changed[path], text) {
		return nil
	}
	return m
}

// partOfMatch names the part of a match file that a mutation has changed.
func partOfMatch(before, after []byte) string {
	was, is := new(store.Match), new(store.Match)
	if json.Unmarshal(before, was) != nil || json.Unmarshal(after, is) != nil {
		return ""
	}
	if was.Lifecycle.State == protocol.StateAbandoned {
		return " (abandoned attempt)"
	}
	for _, doc := range []*store.Match{was, is} {
		doc.Transcript = doc.Transcript[:min(doc.Digested, len(doc.Transcript))]
		doc.Lifecycle.States = doc.Lifecycle.States[:max(len(doc.Lifecycle.States)-1, 0)]
	}
	if reflect.DeepEqual(was, is) {
		return " (after the result)"
	}
	return ""
}

// partOf names a part of a file: the kind of a line.
func partOf(kind string, line []byte) string {
	has := func(text string) bool { return bytes.Contains(line, []byte(text)) }
	switch {
	case kind == "history.jsonl" && has(`"decision":`):
		return " (decision)"
	case kind == "history.jsonl" && has(`"head":`):
		return " (head)"
	}
	return ""
}

// rechain computes the hashes of the journal again, and those in the files that derive from it.
func (l *mutationLeague) rechain(m *mutation, lines [][]byte) {
	heads, prev := map[string]string{}, journal.Origin
	var text []byte
	for _, line := range lines {
		line = bytes.TrimSuffix(line, []byte("\n"))
		was := journal.Hash(line)
		line = regexp.MustCompile(`"prev":"[0-9a-f]{64}"`).ReplaceAll(line, []byte(`"prev":"`+prev+`"`))
		line = appendfile.Seal(line)
		prev = journal.Hash(line)
		heads[was] = prev
		text = append(append(text, line...), '\n')
	}
	m.member += " (hashes computed again)"
	m.changed[m.path] = text
	for _, name := range []string{"standings.json", "agents.json", "rounds.json"} {
		path := l.files[name][0]
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		m.changed[path] = regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllFunc(text, func(hash []byte) []byte {
			return []byte(cmp.Or(heads[string(hash)], prev))
		})
	}
}

// change changes or removes one value of a JSON text; nil if that does not change its
// meaning.
func (m *mutation) change(text []byte, r *rand.Rand) []byte {
	root := parse(jsontext.NewDecoder(bytes.NewReader(text)))
	places := root.places(nil)
	p := places[r.IntN(len(places))]
	node := &p.parent.values[p.index]
	m.member, m.was = m.member+": "+pattern(p.path), string(node.append(nil))
	switch {
	case r.IntN(4) == 0 && !node.zero(): // a missing member means the same
		m.member, m.is = m.member+" removed", "nothing"
		p.parent.remove(p.index)
	default:
		m.is = node.vary(r)
	}
	changed := root.append(nil)
	if bytes.HasSuffix(text, []byte("\n")) {
		changed = append(changed, '\n')
	}
	if m.is == m.was {
		return nil
	}
	return changed
}

// pattern is a path with * for the index of an element, and for the id of a player.
func pattern(path []string) string {
	parts := slices.Clone(path)
	for i := range parts {
		if indexOrPlayer.MatchString(parts[i]) {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}

var indexOrPlayer = regexp.MustCompile(`^P?\d+$`)

// A jsonNode is a JSON value.
type jsonNode struct {
	kind   jsontext.Kind
	raw    []byte   // of a scalar
	names  []string // of the members of an object
	values []jsonNode
}

// A place is a value in an object or array.
type place struct {
	parent *jsonNode
	index  int
	path   []string
}

func parse(d *jsontext.Decoder) (n jsonNode) {
	n.kind = d.PeekKind()
	if n.kind != '{' && n.kind != '[' {
		raw, err := d.ReadValue()
		if err != nil {
			panic(err)
		}
		n.raw = bytes.Clone(raw)
		return n
	}
	_, _ = d.ReadToken()
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		if n.kind == '{' {
			name, err := d.ReadToken()
			if err != nil {
				panic(err)
			}
			n.names = append(n.names, name.String())
		}
		n.values = append(n.values, parse(d))
	}
	_, _ = d.ReadToken()
	return n
}

// append appends the value as our programs write it in a line.
func (n *jsonNode) append(b []byte) []byte {
	if n.raw != nil {
		return append(b, n.raw...)
	}
	b = append(b, byte(n.kind))
	for i := range n.values {
		if i > 0 {
			b = append(b, ',')
		}
		if n.kind == '{' {
			b, _ = jsontext.AppendQuote(b, n.names[i])
			b = append(b, ':')
		}
		b = n.values[i].append(b)
	}
	return append(b, map[jsontext.Kind]byte{'{': '}', '[': ']'}[n.kind])
}

// places are all values below a value.
func (n *jsonNode) places(path []string) (all []place) {
	for i := range n.values {
		name := strconv.Itoa(i)
		if n.kind == '{' {
			name = n.names[i]
		}
		here := append(slices.Clone(path), name)
		all = append(append(all, place{n, i, here}), n.values[i].places(here)...)
	}
	return all
}

// zero tells whether a missing member means the same as this value.
func (n *jsonNode) zero() bool {
	return slices.Contains([]string{"null", "0", "false", `""`, "[]"}, string(n.append(nil))) ||
		n.kind == '{' && !slices.ContainsFunc(n.values, func(v jsonNode) bool { return v.kind != 'n' })
}

func (n *jsonNode) remove(i int) {
	n.values = slices.Delete(n.values, i, i+1)
	if n.kind == '{' {
		n.names = slices.Delete(n.names, i, i+1)
	}
}

// vary changes the value within its type, and returns the new one.
func (n *jsonNode) vary(r *rand.Rand) string {
	switch n.kind {
	case '{', '[':
		switch k := len(n.values); {
		case k > 1 && n.kind == '[' && r.IntN(2) == 0:
			i := r.IntN(k - 1)
			n.values[i], n.values[i+1] = n.values[i+1], n.values[i]
		case k > 0:
			if i := r.IntN(k); n.kind == '[' || !n.values[i].zero() {
				n.remove(i)
			}
		}
	case 't', 'f':
		n.raw = []byte(map[jsontext.Kind]string{'t': "false", 'f': "true"}[n.kind])
	case '0':
		value, err := strconv.ParseFloat(string(n.raw), 64)
		if err != nil {
			panic(err)
		}
		n.raw = strconv.AppendFloat(nil, max(value+float64([]int{-1, 1, 2, 10}[r.IntN(4)]), 0), 'f', -1, 64)
	case 'n':
		n.raw = [][]byte{[]byte(`"P01"`), []byte("4"), []byte(`"even"`)}[r.IntN(3)]
	case '"':
		text, err := jsontext.AppendUnquote(nil, n.raw)
		if err != nil {
			panic(err)
		}
		n.raw, _ = jsontext.AppendQuote(nil, varyText(string(text), r))
	}
	return string(n.append(nil))
}

var (
	hexDigits  = regexp.MustCompile(`^[0-9a-f]{32,}$`)
	identifier = regexp.MustCompile(`^((?:conv-)?[a-zA-Z]+)(\d+)(.*)$`)
)

// varyText returns another text of the same kind.
func varyText(text string, r *rand.Rand) string {
	for _, all := range [][]string{
		{"even", "odd"}, {"rock", "paper", "scissors"}, {"WIN", "DRAW", "LOSS", "TECHNICAL_LOSS", "TECHNICAL_WIN"},
		{"sent", "received"}, {"referee", "manager", "player"}, {"REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"}, {"E001", "E002", "E009"},
	} {
		if i := slices.Index(all, text); i >= 0 {
			return all[(i+1+r.IntN(len(all)-1))%len(all)]
		}
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		at = at.Add(time.Duration(1+r.IntN(100)) * []time.Duration{time.Second, -time.Second, time.Hour}[r.IntN(3)])
		if strings.Contains(text, ".") {
			return at.Format("2006-01-02T15:04:05.000Z")
		}
		return at.Format("2006-01-02T15:04:05Z")
	}
	switch {
	case hexDigits.MatchString(text):
		i := r.IntN(len(text))
		return text[:i] + map[bool]string{true: "b", false: "a"}[text[i] == 'a'] + text[i+1:]
	case identifier.MatchString(text):
		parts := identifier.FindStringSubmatch(text)
		number, _ := strconv.Atoi(parts[2])
		return fmt.Sprintf("%s%0*d%s", parts[1], len(parts[2]), number+1, parts[3])
	case text == "":
		return "x"
	}
	i := r.IntN(len(text))
	return text[:i] + map[bool]string{true: "y", false: "x"}[text[i] == 'x'] + text[i+1:]
}
