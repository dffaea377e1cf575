package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/league/view/page"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
)

// A server serves the pages of one of the leagues in testdata.
type server struct {
	http.Handler

	t testing.TB
}

// serve makes the pages of a source, until the test ends.
func serve(t testing.TB, source page.Source) *server { return serveWith(t, source, page.Options{}) }

// serveWith makes the pages of a source with options.
func serveWith(t testing.TB, source page.Source, o page.Options) *server {
	board := page.NewBoard(source)
	t.Cleanup(board.Close)
	o.Games = rules.NewRegistry(evenodd.Game{}, tictactoe.Game{})
	pages, err := page.New(board, o)
	require.NoError(t, err)
	return &server{pages.Mux(), t}
}

// folderOf is the source of a league in testdata.
func folderOf(t testing.TB, name string) page.Source {
	folder := store.In(filepath.Join("../../../testdata/leagues", name))
	ids, err := filepath.Glob(filepath.Join(folder.Path, "data", "leagues", "*"))
	require.NoError(t, err)
	require.Len(t, ids, 1)
	return page.NewFolder(folder, filepath.Base(ids[0]))
}

// serveFolder makes the pages of a league in testdata.
func serveFolder(t testing.TB, name string) *server { return serve(t, folderOf(t, name)) }

// get asks for a page, with headers in pairs.
func (s *server) get(path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, http.NoBody)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestEveryAnswerHasTheSecurityHeaders(t *testing.T) {
	s := serveFolder(t, "finished")
	for _, path := range []string{"/", "/assets/page.css", "/assets/none.js", "/?fragment=none"} {
		h := s.get(path).Header()
		assert.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'", path)
		assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		assert.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
		assert.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"), path)
		assert.NotEmpty(t, h.Get("Cache-Control"), path)
	}
}

func TestRedirectsAndRefusalsHaveTheSecurityHeaders(t *testing.T) {
	pages, err := page.New(page.NewBoard(page.NewFolder(store.In(t.TempDir()), "league")), page.Options{Base: "/cup"})
	require.NoError(t, err)
	mux := http.NewServeMux()
	for _, r := range pages.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	for _, request := range []string{"GET /", "GET /cup", "POST /cup/"} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		assert.Contains(t, []int{http.StatusFound, http.StatusNotFound}, w.Code, request)
		assert.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'", request)
	}
}

func TestReloadOfUnchangedPageHasNoBody(t *testing.T) {
	s := serveFolder(t, "finished")
	first := s.get("/")
	require.Equal(t, http.StatusOK, first.Code)
	assert.Contains(t, first.Body.String(), "<section id=\"standings\"")
	again := s.get("/", "If-None-Match", first.Header().Get("ETag"))
	assert.Equal(t, http.StatusNotModified, again.Code)
	assert.Zero(t, again.Body.Len())
}

func TestFragmentIsPartOfThePage(t *testing.T) {
	s := serveFolder(t, "finished")
	part := s.get("/?fragment=standings")
	require.Equal(t, http.StatusOK, part.Code)
	assert.Contains(t, s.get("/").Body.String(), strings.TrimSpace(part.Body.String()))
	assert.NotContains(t, part.Body.String(), "<html")
	for _, name := range []string{"content", "layout.html", "none"} {
		assert.Equal(t, http.StatusNotFound, s.get("/?fragment="+name).Code, name)
	}
}

func TestAssetWithItsHashIsImmutable(t *testing.T) {
	s := serveFolder(t, "finished")
	_, after, _ := strings.Cut(s.get("/").Body.String(), `href="/assets/`)
	name, _, _ := strings.Cut(after, `"`)
	with := s.get("/assets/" + name)
	assert.Equal(t, http.StatusOK, with.Code)
	assert.Contains(t, with.Header().Get("Cache-Control"), "immutable")
	assert.NotContains(t, s.get("/assets/page.css?v=old").Header().Get("Cache-Control"), "immutable")
	assert.Equal(t, http.StatusNotFound, s.get("/assets/none.css").Code)
}

func TestLeagueWithoutFilesIsNotThereYet(t *testing.T) {
	s := serve(t, page.NewFolder(store.In(t.TempDir()), "league"))
	for _, path := range []string{"/", "/events"} {
		none := s.get(path)
		assert.Equal(t, http.StatusServiceUnavailable, none.Code, path)
		assert.NotEmpty(t, none.Header().Get("Retry-After"), path)
		assert.NotContains(t, none.Body.String(), fs.ErrNotExist.Error(), path)
	}
}

// A league whose manager has died is not shown as running, until a manager runs it again.
func TestLeagueWithoutManagerIsNotShownAsRunning(t *testing.T) {
	folder, id := store.In(t.TempDir()), "league_2025_even_odd"
	require.NoError(t, os.CopyFS(folder.Path, os.DirFS("../../../testdata/leagues/half_played")))
	if _, err := appendfile.InUse(folder.Disk, folder.Journal(id)); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("a journal has no lock here")
	}
	s := serve(t, page.NewFolder(folder, id))
	body := s.get("/").Body.String()
	assert.Contains(t, body, "<b>No manager runs this league.</b> The last entry is of <time")
	for _, running := range []string{`data-state="running"`, `class="clock"`, " left</b>"} {
		assert.NotContains(t, body, running)
	}
	file, _, err := appendfile.OpenLocked(folder.Disk, folder.Journal(id), "the journal", func(int, []byte) error { return nil }, nil)
	require.NoError(t, err)
	shows := func(state string) func() bool {
		return func() bool { return strings.Contains(s.get("/").Body.String(), `data-state="`+state+`"`) }
	}
	require.Eventually(t, shows("running"), time.Minute, 50*time.Millisecond)
	require.NoError(t, file.Close())
	require.Eventually(t, shows("stopped"), time.Minute, 50*time.Millisecond)
}

// Viewers cannot fill the log with the same error.
func TestDamagedJournalIsLoggedOnce(t *testing.T) {
	folder := store.In(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Dir(folder.Journal("cup")), 0o750))
	require.NoError(t, os.WriteFile(folder.Journal("cup"), []byte("garbage\n"), 0o600))
	board := page.NewBoard(page.NewFolder(folder, "cup"))
	t.Cleanup(board.Close)
	var log bytes.Buffer
	pages, err := page.New(board, page.Options{Log: zerolog.New(&log)})
	require.NoError(t, err)
	for range 3 {
		w := (&server{pages.Mux(), t}).get("/")
		assert.Equal(t, http.StatusInternalServerError, w.Code)
		assert.NotContains(t, w.Body.String(), "garbage")
	}
	assert.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")), log.String())
}

// Each page that shows a result on the word of its referee says so, and no page of another result does.
func TestResultOnTheWordOfItsRefereeIsMarkedOnEachPage(t *testing.T) {
	const (
		tag      = ">stated</span>"
		sentence = "rest on the word of referee REF01 Referee 01 alone."
		note     = "The result rests on the word of referee REF01 alone"
	)
	for _, stated := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			tape := newTape(t, "finished")
			for i, line := range tape.lines {
				if stated && strings.Contains(line, `"type":"match_reported"`) && strings.Contains(line, `"referee_id":"REF01"`) {
					tape.lines[i] = regexp.MustCompile(`"grade":"[a-z]+"`).ReplaceAllString(line, `"grade":"stated"`)
				}
			}
			s := serve(t, tape)
			tape.play(len(tape.lines))
			synctest.Wait()
			pages := map[string][]string{"/": {tag, sentence}, "/players/P01": {tag}, "/matches/R1M1": {note}}
			for path, marks := range pages {
				page := s.get(path)
				require.Equal(t, http.StatusOK, page.Code, path)
				for _, mark := range marks {
					assert.Equal(t, stated, strings.Contains(page.Body.String(), mark), "%s: %s", path, mark)
				}
			}
		})
	}
}

func TestMatchPageShowsTheConversation(t *testing.T) {
	s := serveFolder(t, "finished")
	page := s.get("/matches/R1M1")
	require.Equal(t, http.StatusOK, page.Code)
	for _, want := range []string{
		"<h1>R1M1: ", "MATCH_ASSIGNMENT", "CHOOSE_PARITY_CALL", "GAME_OVER", "MATCH_RESULT_ACK", `class="r-a`, `class="b-r`,
		`<details><summary>JSON`, `data-commitment="`, "sha256sum", "/assets/draw.js?v=",
	} {
		assert.Contains(t, page.Body.String(), want)
	}
	for _, path := range []string{"/matches/R9M1", "/matches/x", "/matches/R1M1?attempt=9", "/matches/R1M1?attempt=-1", "/matches/R1M1?attempt=x"} {
		assert.Equal(t, http.StatusNotFound, s.get(path).Code, path)
	}
}

// A changedSource changes the transcripts of another.
type changedSource struct {
	page.Source

	change func(*store.Match)
}

func (c *changedSource) Transcript(ctx context.Context, at league.Attempt) (*store.Match, error) {
	doc, err := c.Source.Transcript(ctx, at)
	if err == nil {
		c.change(doc)
	}
	return doc, err
}

// A match without a recorded result shows no message, no choice and no draw, although its
// transcript is in the folder.
func TestMatchWithoutResultShowsNoTranscript(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		tape.transcript = func(at league.Attempt) (*store.Match, error) {
			t.Error("the transcript is read")
			return folderOf(t, "finished").Transcript(t.Context(), at)
		}
		reported := tape.find(t, "match_reported", 1)
		require.Contains(t, tape.lines[reported-1], `"match_id":"R1M1"`)
		tape.play(reported - 1)
		synctest.Wait()
		page := s.get("/matches/R1M1?attempt=1")
		require.Equal(t, http.StatusOK, page.Code)
		body := page.Body.String()
		assert.Contains(t, body, "No result yet")
		assert.Contains(t, body, "Attempt 1.")
		for _, secret := range []string{"CHOOSE_PARITY", "GAME_", "chose", "data-nonce", "<pre", "lanes"} {
			assert.NotContains(t, body, secret)
		}
	})
}

func TestMatchPageHidesAddressesAndTokensAndEscapesText(t *testing.T) {
	source := &changedSource{Source: folderOf(t, "finished"), change: func(doc *store.Match) {
		doc.Transcript[0].Direction = store.Received
		doc.Transcript[0].Error = &store.ExchangeError{ErrorCode: "E009", ErrorName: "CONNECTION_ERROR",
			Detail: "http://10.1.2.3:8101/mcp: dial tcp 10.1.2.3:8101: connect: connection refused; ada.example.org:8101; [fe80::1]:8101"}
		doc.Transcript[0].Answer = `<img src=x onerror=alert(1)> tok-p01-abcdefghijklmnopqrstuvwxyz https://ada.example.org/x`
		doc.Transcript[0].Message = jsontext.Value(`{"a":"</pre><script>alert(1)</script>","b":"http://10.1.2.3/","c":"tok-p01-abcdefghijklmnopqrstuvwxyz","d":"\u202e"}`)
	}}
	body := serve(t, source).get("/matches/R1M1").Body.String()
	assert.Contains(t, body, "(an address)")
	assert.Contains(t, body, "CONNECTION_ERROR")
	assert.Contains(t, body, "Nothing listens at the address of the player")
	for _, hidden := range []string{"10.1.2.3", "ada.example", "fe80", ":8101", "<img", "<script>alert", "tok-p01-abc", "\u202e"} {
		assert.NotContains(t, body, hidden)
	}
}

func TestMatchWithoutTranscriptSaysSo(t *testing.T) {
	source := &changedSource{Source: folderOf(t, "finished"), change: func(doc *store.Match) { doc.Transcript = nil }}
	body := serve(t, source).get("/matches/R1M1").Body.String()
	assert.Contains(t, body, "<p>Its referee has not delivered the transcript of this attempt.</p>")
	assert.NotContains(t, body, `class="lanes"`)
	assert.Contains(t, body, "data-nonce", "the report has the draw")
}

func TestWrongAnswersAndVoidTriesStandOut(t *testing.T) {
	source := &changedSource{Source: folderOf(t, "finished"), change: func(doc *store.Match) {
		at := doc.Transcript[0].At
		ask := store.Exchange{At: at, Direction: store.Sent, PlayerID: doc.PlayerA.PlayerID, Method: "choose_parity", Try: 1, Message: jsontext.Value(`{}`)}
		wrong := store.Exchange{At: at, Direction: store.Received, PlayerID: doc.PlayerA.PlayerID, Method: "choose_parity", Try: 1,
			Message: jsontext.Value(`{"parity_choice":"Even"}`), MessageType: protocol.TypeChooseParityResponse,
			Error: &store.ExchangeError{ErrorCode: "E004", ErrorName: "INVALID_PARITY_CHOICE", Detail: "no"}}
		again, void := ask, wrong
		again.Try, void.Try, void.Void = 2, 2, "the referee stalled for 3s"
		doc.Transcript = []store.Exchange{ask, wrong, again, void}
	}}
	body := serve(t, source).get("/matches/R1M1").Body.String()
	for _, want := range []string{
		`trouble wrong_answer`, "&#34;Even&#34;", "E004 INVALID_PARITY_CHOICE: no", "The choice is not legal.", "try 1 of 2", "try 2 of 2",
		`trouble void`, "This try does not count: the referee stalled for 3s.",
	} {
		assert.Contains(t, body, want)
	}
}

// A game of several turns lists its moves.
func TestMovesOfAGameOfSeveralTurns(t *testing.T) {
	move := func(doc *store.Match, player, square string) store.Exchange {
		return store.Exchange{At: doc.Transcript[0].At, Direction: store.Received, PlayerID: player, Method: "make_move", Try: 1,
			MessageType: protocol.TypeGameMoveResponse, Message: jsontext.Value(`{"move_data":{"choice":"` + square + `"}}`)}
	}
	source := &changedSource{Source: folderOf(t, "finished"), change: func(doc *store.Match) {
		a, b := doc.PlayerA.PlayerID, doc.PlayerB.PlayerID
		doc.GameType = "tic_tac_toe"
		doc.Transcript = []store.Exchange{move(doc, a, "5"), move(doc, b, "1"), move(doc, a, "8")}
	}}
	pages := serve(t, source)
	body := pages.get("/matches/R1M1?move=2").Body.String()
	assert.Equal(t, 4, strings.Count(body, `<figure class="position"`))
	assert.Contains(t, body, `data-title="Move 2 of 3"><div class="scroll"><table`,
		"the position of the address is shown, and no other")
	assert.Equal(t, 3, strings.Count(body, ` hidden><div class="scroll"><table`))
	assert.Contains(t, body, `<a href="?move=3">`)
	assert.Contains(t, body, `P02 gave away a draw; better: cell 2`)
	source.change = func(doc *store.Match) { doc.GameType, doc.Transcript = "tic_tac_toe", nil }
	assert.Contains(t, pages.get("/matches/R1M1?embed=1").Body.String(), "no move was recorded")
	assert.Contains(t, pages.get("/matches/R1M1?embed=1").Header().Get("Content-Security-Policy"), "frame-ancestors *")
	assert.Contains(t, pages.get("/?embed=1").Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
}

// A drawVector is a draw as data-attributes have it, with what Go computes.
type drawVector struct {
	League     string `json:"league"`
	Match      string `json:"match"`
	Attempt    string `json:"attempt"`
	Referee    string `json:"referee"`
	Nonce      string `json:"nonce"`
	EntropyA   string `json:"entropyA"`
	EntropyB   string `json:"entropyB"`
	Commitment string `json:"commitment"`
	Number     int    `json:"number"`
}

const runDraw = `
const fs = require("fs"), vm = require("vm");
const context = vm.createContext({ TextEncoder });
for (const file of process.argv.slice(2, 4)) vm.runInContext(fs.readFileSync(file, "utf8"), context);
const found = JSON.parse(fs.readFileSync(process.argv[4], "utf8")).map((d) =>
  ({ commitment: context.drawCheck.commitment(d), number: context.drawCheck.number(d) }));
console.log(JSON.stringify(found));
`

// The script of the match page computes what Go computes: nonces, entropies that are missing, names
// that are not ASCII, and draws in which bytes of 250 and more are passed over.
func TestDrawInTheBrowserEqualsTheDrawInGo(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	var vectors []drawVector
	secret := func(n int) (s protocol.Secret) {
		s[0], s[1], s[2], s[3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
		return s
	}
	for i, n := range []int{0, 1, 107, 594, 16273, 59808, 1 << 30} {
		nonce, a := secret(n), secret(i)
		v := drawVector{League: "league ליגה é", Match: "R1M1", Attempt: "2", Referee: "REF01", Nonce: nonce.Hex()}
		v.Commitment = protocol.DrawCommitment(v.League, v.Match, 2, v.Referee, nonce)
		chance := rules.Chance{Nonce: nonce}
		if i%2 == 1 {
			v.EntropyA, v.EntropyB = a.Hex(), nonce.Hex()
			chance.EntropyA, chance.EntropyB = a, nonce
		}
		v.Number = evenodd.Number(chance)
		vectors = append(vectors, v)
	}
	raw, err := json.Marshal(append(vectors, drawVector{Nonce: "no nonce"}))
	require.NoError(t, err)
	file, script := filepath.Join(t.TempDir(), "vectors.json"), filepath.Join(t.TempDir(), "run.cjs")
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	require.NoError(t, os.WriteFile(script, []byte(runDraw), 0o600))
	out, err := exec.CommandContext(t.Context(), node, script, "assets/sha256.min.js", "assets/draw.js", file).Output()
	require.NoError(t, err)
	var got []struct {
		Commitment *string
		Number     *int
	}
	require.NoError(t, json.Unmarshal(out, &got))
	require.Len(t, got, len(vectors)+1)
	for i, want := range vectors {
		assert.Equal(t, want.Commitment, *got[i].Commitment)
		assert.Equal(t, want.Number, *got[i].Number)
	}
	assert.Nil(t, got[len(vectors)].Commitment, "an invalid nonce has no commitment")
	assert.Nil(t, got[len(vectors)].Number)
}
