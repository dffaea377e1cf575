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

// newReplay makes 'evenodd replay': a finished match as a conversation, or said
// again to a player.
func newReplay(s streams) *cobra.Command {
	o := &replayOptions{}
	c := &cobra.Command{
		Use:   "replay MATCH",
		Short: "Show a match as a conversation, or say it again to a player",
		Long: `Show who said what to whom in a match, when, after how long, with every error, how
the number came about and how it ended, from the file its referee wrote.

With --against the requests that one player got are sent again, in their order, to
the endpoint given, with new times and without a token; shown is where the answers
differ. What differs only in time, entropy, token or sender is no difference. A
player that is in a league whose manager proves itself refuses everybody but the
referee of its match.`,
		Example: "  evenodd replay R1M1 --data ./my-league\n" +
			"  evenodd replay R1M1 --data ./my-league --against http://localhost:8101/mcp --as P03",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("replay takes one match, such as R1M1")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.matchID = args[0]
			return runReplay(c.Context(), s, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.data, "data", defaultData, "data `folder` of the league")
	f.StringVar(&o.leagueID, "league-id", "", "the league of the match (default: the only one there is)")
	f.IntVar(&o.attempt, "attempt", 0, "an attempt at the match that was given up, from 1 (default: the one that counts)")
	f.StringVar(&o.format, "format", formatText, "text or json")
	f.StringVar(&o.against, "against", "", "`URL` of a player to say it again to")
	tlsCAFlag(f, &o.ca)
	f.StringVar(&o.as, "as", "", "the player whose requests are sent (default: the one who lost, or player A)")
	return c
}

func runReplay(ctx context.Context, s streams, o *replayOptions) error {
	switch err := checkTextOrJSON(o.format); {
	case err != nil:
		return err
	case o.attempt < 0:
		return usage("--attempt %d: 1 or more", o.attempt)
	case o.against != "" && !httpURL(o.against):
		return usage("--against %q: a URL such as http://localhost:8101/mcp", o.against)
	case o.against == "" && o.as != "":
		return usage("--as says whose requests are sent: give --against, too")
	}
	path, err := o.find()
	if err != nil {
		return err
	}
	doc, err := store.Read[store.Match](path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return err
	case err != nil:
		return errors.New(audit.Reason(err))
	}
	if o.against != "" {
		return replayAgainst(ctx, s, o, doc)
	}
	r := retell(doc)
	if o.format == formatJSON {
		return printJSON(s.out, r)
	}
	return r.print(s.out)
}

// find is the path of the match's file. An error says what there is instead.
func (o *replayOptions) find() (string, error) {
	dir := store.Folder(o.data)
	if err := o.findLeague(dir); err != nil {
		return "", err
	}
	if _, ok := protocol.ParseMatchID(o.matchID); !ok {
		return "", usage("match %.40q: matches are called R1M1, R1M2, …", o.matchID)
	}
	if o.attempt > 0 {
		return o.findAttempt(dir)
	}
	path := dir.Match(o.leagueID, o.matchID)
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	err := fmt.Errorf("league %s has no file of match %s; there %s", o.leagueID, o.matchID, inventory(namesIn(dir.Matches(o.leagueID)), "is none of any match", "are those of"))
	if left := namesIn(dir.Attempts(o.leagueID), o.matchID+"."); len(left) > 0 {
		err = fmt.Errorf("%w\nattempts at %s that were left: %s; show one with --attempt", err, o.matchID, strings.Join(left, ", "))
	}
	return "", err
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

func (o *replayOptions) findAttempt(dir store.Folder) (string, error) {
	if doc, err := store.Read[store.Match](dir.Match(o.leagueID, o.matchID)); err == nil && doc.Attempt == o.attempt {
		return dir.Match(o.leagueID, o.matchID), nil
	}
	names := namesIn(dir.Attempts(o.leagueID), fmt.Sprintf("%s.a%d.", o.matchID, o.attempt))
	if len(names) == 0 {
		all := namesIn(dir.Attempts(o.leagueID), o.matchID+".")
		return "", fmt.Errorf("there is no file of attempt %d at %s; of its attempts there %s", o.attempt, o.matchID, inventory(all, "is none", "are"))
	}
	return filepath.Join(dir.Attempts(o.leagueID), names[0]+".json"), nil // an attempt has one referee
}

// namesIn lists the JSON files of a folder that begin so, in order of matches.
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

// inventory says what there is, not endlessly.
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

// A retelling is a match as replay shows it.
type retelling struct {
	LeagueID     string             `json:"league_id"`
	RoundID      int                `json:"round_id"`
	MatchID      string             `json:"match_id"`
	Attempt      int                `json:"attempt"`
	GameType     string             `json:"game_type"`
	RefereeID    string             `json:"referee_id"`
	State        string             `json:"state"`
	PlayerA      store.MatchPlayer  `json:"player_A"`
	PlayerB      store.MatchPlayer  `json:"player_B"`
	Conversation []utterance        `json:"conversation"`
	Omitted      int                `json:"omitted,omitzero"`
	Draw         *retoldDraw        `json:"draw"`
	Result       *store.MatchResult `json:"result"`
}

// An utterance is one exchange for people.
type utterance struct {
	At      string               `json:"at"`
	Waited  *float64             `json:"waited_sec"` // since the one before; null where a time cannot be read
	From    string               `json:"from"`
	To      string               `json:"to"`
	Method  string               `json:"method"`
	Try     int                  `json:"try"`
	Says    string               `json:"says"`
	Error   *store.ExchangeError `json:"error,omitzero"`
	Message any                  `json:"message,omitzero"`
}

// A retoldDraw is how the number comes about, computed again.
type retoldDraw struct {
	*protocol.Draw
	CommitmentHolds bool `json:"commitment_holds"`
	Number          *int `json:"number"` // null where it cannot be computed
}

func retell(doc *store.Match) *retelling {
	r := &retelling{
		LeagueID: doc.LeagueID, RoundID: doc.RoundID, MatchID: doc.MatchID, Attempt: doc.Attempt, GameType: doc.GameType,
		RefereeID: doc.RefereeID, State: doc.Lifecycle.State, PlayerA: doc.PlayerA, PlayerB: doc.PlayerB,
		Conversation: make([]utterance, len(doc.Transcript)), Omitted: doc.Omitted, Draw: redraw(doc), Result: doc.Result,
	}
	var before time.Time
	for i := range doc.Transcript {
		e := &doc.Transcript[i]
		u := utterance{At: e.At, From: doc.RefereeID, To: e.PlayerID, Method: e.Method, Try: e.Try, Says: says(e), Error: e.Error}
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

// redraw computes the draw of a match again; nil when the file reveals none.
func redraw(doc *store.Match) *retoldDraw {
	if doc.Draw == nil {
		return nil
	}
	d := &retoldDraw{Draw: doc.Draw}
	nonce, ok := protocol.ParseSecret(doc.Draw.Nonce)
	if !ok {
		return d
	}
	d.CommitmentHolds = protocol.DrawCommitment(doc.LeagueID, doc.MatchID, doc.Attempt, doc.RefereeID, nonce) == doc.Draw.Commitment
	game, err := games().Game(doc.GameType)
	if err != nil || game.Info().MaxTurns != 1 || doc.Result == nil || doc.Result.Status == protocol.StatusTechnicalLoss {
		return d
	}
	start := game.Start()
	chance := rules.Chance{Nonce: nonce}
	var moves [2]string
	for i, id := range []string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID} {
		text, _ := doc.Draw.Entropies.Get(id)
		entropy, _ := protocol.ParseSecret(text) // none is zeros
		if i == 0 {
			chance.EntropyA = entropy
		} else {
			chance.EntropyB = entropy
		}
		if choice, _ := doc.Result.Choices.Get(id); choice != nil {
			moves[i] = *choice
		}
	}
	for _, seat := range start.ToMove() {
		if start.Check(seat, moves[seat]) != nil {
			return d
		}
	}
	if number := start.Play(moves).Judge(chance).Number; number > 0 {
		d.Number = &number
	}
	return d
}

// words is what matters of any message of a match to people.
type words struct {
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

// says is a message in a sentence.
func says(e *store.Exchange) string {
	if len(e.Message) == 0 && e.Error != nil {
		return "(no answer)"
	}
	var w words
	if json.Unmarshal(e.Message, &w) != nil {
		return e.MessageType + " (of a form that cannot be read)"
	}
	said := e.MessageType
	if said == "" {
		said = w.MessageType
	}
	return said + w.details()
}

func (w *words) details() string {
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
			w.MoveRequest.MoveType, situationOf(w.MoveRequest.Context), strings.Join(w.MoveRequest.ValidOptions, ", "), w.Deadline)
	case protocol.TypeChooseParityResponse:
		return ": " + orNothing(w.ParityChoice)
	case protocol.TypeGameMoveResponse:
		return ": " + orNothing(w.MoveData.Choice)
	case protocol.TypeGameError:
		return fmt.Sprintf(": %s %s. %s", w.ErrorCode, w.ErrorName, w.Consequence)
	case protocol.TypeGameOver:
		if w.GameResult != nil {
			return fmt.Sprintf(": %s. %s", w.GameResult.Status, w.GameResult.Reason)
		}
	}
	return ""
}

// situationOf is what a player is told of the position it is to move in, in order
// of names; against whom and in which round was said before.
func situationOf(context map[string]any) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(context)) {
		if name != "opponent_id" && name != "round_id" {
			_, _ = fmt.Fprintf(&text, "; %s: %v", name, context[name]) // a builder takes everything
		}
	}
	return text.String()
}

func orNothing(s string) string {
	if s == "" {
		return "no choice"
	}
	return s
}
