package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"evenodd/league/audit"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

type replayOptions struct {
	matchID  string
	data     string
	leagueID string
	attempt  int
	format   string
	against  string
	ca       string
	as       string
}

// newReplay makes 'evenodd replay': it shows a finished match as a conversation, or
// replays it against a player.
func newReplay(s streams) *cobra.Command {
	o := &replayOptions{}
	c := &cobra.Command{
		Use:   "replay MATCH",
		Short: "Show a match as a conversation, or replay it against a player",
		Long: `Show the conversation of a match from its match file: each message with sender,
receiver, time and delay, every error, the draw of the number and the result.

With --against, send the requests that one player got again to another endpoint, in
their order, with new times and without a token, and show where the answers differ.
Times, entropies, tokens and senders may differ. A player in a league whose manager
proves itself refuses all callers but the referee of its match.`,
		Example: "  evenodd replay R1M1 --data ./my-league\n" +
			"  evenodd replay R1M1 --data ./my-league --against http://localhost:8101/mcp --as P03",
		Args: takes(1, nil, "replay takes one match, such as R1M1"),
		RunE: func(c *cobra.Command, args []string) error {
			o.matchID = args[0]
			return runReplay(c.Context(), s, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.data, "data", defaultData, "data `folder` of the league")
	f.StringVar(&o.leagueID, "league-id", "", "the league of the match (default: the only one there is)")
	f.IntVar(&o.attempt, "attempt", 0, "an attempt at the match that was given up, from 1 (default: the attempt that counts)")
	f.StringVar(&o.format, "format", formatText, "text or json")
	f.StringVar(&o.against, "against", "", "`URL` of a player to replay the match against")
	tlsCAFlag(f, &o.ca)
	f.StringVar(&o.as, "as", "", "the player whose requests are sent (default: the loser, or player A)")
	return c
}

func runReplay(ctx context.Context, s streams, o *replayOptions) error {
	switch err := oneOf("format", o.format, formatText, formatJSON); {
	case err != nil:
		return err
	case o.attempt < 0:
		return usage("--attempt %d: 1 or more", o.attempt)
	case o.against != "" && !httpURL(o.against):
		return usage("--against %q: a URL such as http://localhost:8101/mcp", o.against)
	case o.against == "" && o.as != "":
		return usage("--as needs --against: it names the player whose requests are sent")
	}
	doc, err := o.read()
	if err != nil {
		return err
	}
	if o.against != "" {
		return replayAgainst(ctx, s, o, doc)
	}
	r := replayOf(doc)
	return show(s.out, o.format, r, r.print)
}

// read reads the match or the attempt. Its error lists those that exist.
func (o *replayOptions) read() (*store.Match, error) {
	dir := store.Folder(o.data)
	if err := o.findLeague(dir); err != nil {
		return nil, err
	}
	if _, ok := protocol.ParseMatchID(o.matchID); !ok {
		return nil, usage("match %.40q: matches are called R1M1, R1M2, …", o.matchID)
	}
	doc, err := dir.LoadMatch(o.leagueID, o.matchID)
	if o.attempt > 0 && (err != nil || doc.Attempt != o.attempt) {
		doc, err = o.readAttempt(dir)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = o.missing(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		err = errors.New(audit.Reason(err))
	}
	return doc, err
}

// missing is the error of a match without a file.
func (o *replayOptions) missing(dir store.Folder) error {
	err := fmt.Errorf("league %s has no file of match %s; there %s", o.leagueID, o.matchID, inventory(namesIn(dir.Matches(o.leagueID)), "is no file of any match", "are those of"))
	if left := o.attempts(dir); len(left) > 0 {
		err = fmt.Errorf("%w\nunacknowledged attempts at %s: %s; show one with --attempt", err, o.matchID, strings.Join(left, ", "))
	}
	return err
}

func (o *replayOptions) findLeague(dir store.Folder) error {
	leagues, err := audit.Leagues(dir)
	switch {
	case err != nil:
		return err
	case o.leagueID != "" && !slices.Contains(leagues, o.leagueID):
		return fmt.Errorf("there is no league %.64q in %s; there is %s", o.leagueID, dir, strings.Join(leagues, ", "))
	case o.leagueID != "":
		return nil
	case len(leagues) > 1:
		return usage("%s holds several leagues: choose one with --league-id: %s", dir, strings.Join(leagues, ", "))
	}
	o.leagueID = leagues[0]
	return nil
}

// readAttempt reads an attempt from a results file, or from a file of its own as earlier
// versions wrote it.
func (o *replayOptions) readAttempt(dir store.Folder) (*store.Match, error) {
	for _, a := range dir.RecordedAttempts(o.leagueID, o.matchID) {
		if a.Attempt == o.attempt { // an attempt has one referee
			return store.LoadAttempt(a.Path, a.MatchID, a.Attempt)
		}
	}
	names := namesIn(dir.Attempts(o.leagueID), fmt.Sprintf("%s.a%d.", o.matchID, o.attempt))
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no file of attempt %d at %s; of its attempts there %s", o.attempt, o.matchID, inventory(o.attempts(dir), "is none", "are"))
	}
	return store.Read[store.Match](filepath.Join(dir.Attempts(o.leagueID), names[0]+".json"))
}

// attempts lists the unacknowledged attempts at the match.
func (o *replayOptions) attempts(dir store.Folder) []string {
	names := namesIn(dir.Attempts(o.leagueID), o.matchID+".")
	for _, a := range dir.RecordedAttempts(o.leagueID, o.matchID) {
		if a.State != store.StateAcknowledged {
			names = append(names, fmt.Sprintf("%s.a%d.%s", a.MatchID, a.Attempt, a.RefereeID))
		}
	}
	slices.Sort(names)
	return names
}

// namesIn lists the names of the JSON files of a folder that have a prefix, in order
// of matches.
func namesIn(path string, prefix ...string) (names []string) {
	entries, _ := os.ReadDir(path) // no folder, no names
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if ok && !strings.HasPrefix(name, ".") && strings.HasPrefix(name, strings.Join(prefix, "")) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		idA, _ := protocol.ParseMatchID(a)
		idB, _ := protocol.ParseMatchID(b)
		return cmp.Or(idA.Compare(idB), strings.Compare(a, b))
	})
	return names
}

// inventory formats at most 20 names.
func inventory(names []string, none, some string) string {
	const limit = 20
	switch n := len(names); {
	case n == 0:
		return none
	case n > limit:
		return fmt.Sprintf("%s %s and %d more", some, strings.Join(names[:limit], ", "), n-limit)
	}
	return some + " " + strings.Join(names, ", ")
}

// A replay is a match as the command shows it.
type replay struct {
	LeagueID     string             `json:"league_id"`
	RoundID      int                `json:"round_id"`
	MatchID      string             `json:"match_id"`
	Attempt      int                `json:"attempt"`
	GameType     string             `json:"game_type"`
	RefereeID    string             `json:"referee_id"`
	State        string             `json:"state"`
	PlayerA      store.MatchPlayer  `json:"player_A"`
	PlayerB      store.MatchPlayer  `json:"player_B"`
	Conversation []conversationLine `json:"conversation"`
	Omitted      int                `json:"omitted,omitzero"`
	Draw         *recomputedDraw    `json:"draw"`
	Result       *store.MatchResult `json:"result"`
}

// A conversationLine is one exchange of the conversation.
type conversationLine struct {
	At      string               `json:"at"`
	Waited  *float64             `json:"waited_sec"` // since the line before; null if a time is not valid
	From    string               `json:"from"`
	To      string               `json:"to"`
	Method  string               `json:"method"`
	Try     int                  `json:"try"`
	Says    string               `json:"says"`
	Error   *store.ExchangeError `json:"error,omitzero"`
	Message any                  `json:"message,omitzero"`
}

// A recomputedDraw is the draw of a match, computed again.
type recomputedDraw struct {
	*protocol.Draw
	CommitmentHolds bool `json:"commitment_holds"`
	Number          *int `json:"number"` // null if it cannot be computed
}

func replayOf(doc *store.Match) *replay {
	r := &replay{
		LeagueID: doc.LeagueID, RoundID: doc.RoundID, MatchID: doc.MatchID, Attempt: doc.Attempt, GameType: doc.GameType,
		RefereeID: doc.RefereeID, State: doc.Lifecycle.State, PlayerA: doc.PlayerA, PlayerB: doc.PlayerB,
		Conversation: make([]conversationLine, len(doc.Transcript)), Omitted: doc.Omitted, Draw: recomputeDraw(doc), Result: doc.Result,
	}
	var before time.Time
	for i := range doc.Transcript {
		e := &doc.Transcript[i]
		u := conversationLine{At: e.At, From: doc.RefereeID, To: e.PlayerID, Method: e.Method, Try: e.Try, Says: sentence(e), Error: e.Error}
		if e.Direction == store.Received {
			u.From, u.To = u.To, u.From
		}
		if len(e.Message) > 0 {
			u.Message = e.Message
		}
		if at, err := protocol.ParseTimestamp(e.At); err == nil {
			if !before.IsZero() {
				waited := at.Sub(before).Seconds()
				u.Waited = &waited
			}
			before = at
		}
		r.Conversation[i] = u
	}
	return r
}

// recomputeDraw computes the draw of a match again; nil if the file has none.
func recomputeDraw(doc *store.Match) *recomputedDraw {
	if doc.Draw == nil {
		return nil
	}
	d := &recomputedDraw{Draw: doc.Draw}
	nonce, ok := protocol.ParseSecret(doc.Draw.Nonce)
	if !ok {
		return d
	}
	d.CommitmentHolds = protocol.DrawCommitment(doc.LeagueID, doc.MatchID, doc.Attempt, doc.RefereeID, nonce) == doc.Draw.Commitment
	game, err := games().Game(doc.GameType)
	if err != nil || game.MaxTurns() != 1 || doc.Result == nil || doc.Result.Status == protocol.StatusTechnicalLoss {
		return d
	}
	entropy := func(player string) protocol.Secret {
		text, _ := doc.Draw.Entropies.Get(player)
		secret, _ := protocol.ParseSecret(text) // none is zeros
		return secret
	}
	players := [2]string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID}
	moves, start := doc.Result.Moves(players), game.Start()
	for _, side := range start.ToMove() {
		if start.Check(side, moves[side]) != nil {
			return d
		}
	}
	chance := rules.Chance{Nonce: nonce, EntropyA: entropy(players[0]), EntropyB: entropy(players[1])}
	if number := start.Play(moves).Judge(chance).Number; number > 0 {
		d.Number = &number
	}
	return d
}

// A messageSummary holds the members of any message of a match that are shown.
type messageSummary struct {
	MessageType       string               `json:"message_type"`
	Accept            *bool                `json:"accept"`
	RoleInMatch       string               `json:"role_in_match"`
	OpponentID        string               `json:"opponent_id"`
	DrawCommitment    string               `json:"draw_commitment"`
	EntropyCommitment string               `json:"entropy_commitment"`
	ParityChoice      string               `json:"parity_choice"`
	MoveData          protocol.MoveData    `json:"move_data"`
	MoveRequest       protocol.MoveRequest `json:"move_request"`
	Deadline          string               `json:"deadline"`
	GameResult        *protocol.GameResult `json:"game_result"`
	ErrorCode         string               `json:"error_code"`
	ErrorName         string               `json:"error_name"`
	Consequence       string               `json:"consequence"`
	Status            string               `json:"status"`
}

// sentence is a message as a sentence.
func sentence(e *store.Exchange) string {
	if len(e.Message) == 0 && e.Error != nil {
		return "(no answer)"
	}
	var w messageSummary
	if json.Unmarshal(e.Message, &w) != nil {
		return e.MessageType + " (the message cannot be read)"
	}
	return cmp.Or(e.MessageType, w.MessageType) + w.details()
}

func (w *messageSummary) details() string {
	switch w.MessageType {
	case protocol.TypeGameInvitation:
		text := fmt.Sprintf(": you are %s against %s", w.RoleInMatch, w.OpponentID)
		if w.DrawCommitment != "" {
			text += fmt.Sprintf("; I am bound to a nonce (%.12s…)", w.DrawCommitment)
		}
		return text
	case protocol.TypeGameJoinAck:
		text := ": no clear answer"
		if w.Accept != nil {
			text = map[bool]string{true: ": I accept", false: ": I refuse"}[*w.Accept]
		}
		if w.EntropyCommitment != "" {
			text += fmt.Sprintf(", and am bound to my part of the draw (%.12s…)", w.EntropyCommitment)
		}
		return text
	case protocol.TypeChooseParityCall:
		return ": even or odd, until " + w.Deadline
	case protocol.TypeGameMoveCall:
		return fmt.Sprintf(": your move (%s)%s, one of %s, until %s",
			w.MoveRequest.MoveType, positionOf(w.MoveRequest.Context), strings.Join(w.MoveRequest.ValidOptions, ", "), w.Deadline)
	case protocol.TypeChooseParityResponse:
		return ": " + cmp.Or(w.ParityChoice, "no choice")
	case protocol.TypeGameMoveResponse:
		return ": " + cmp.Or(w.MoveData.Choice, "no choice")
	case protocol.TypeGameError:
		return fmt.Sprintf(": %s %s. %s", w.ErrorCode, w.ErrorName, w.Consequence)
	case protocol.TypeGameOver:
		if w.GameResult != nil {
			return fmt.Sprintf(": %s. %s", w.GameResult.Status, w.GameResult.Reason)
		}
	}
	return ""
}

// positionOf formats the members of a GAME_MOVE_CALL's context that describe the
// position, in order of their names.
func positionOf(context map[string]any) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(context)) {
		if name != "opponent_id" && name != "round_id" {
			_, _ = fmt.Fprintf(&text, "; %s: %v", name, context[name]) // a builder never fails
		}
	}
	return text.String()
}
