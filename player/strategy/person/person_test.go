package person_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/player/strategy"
	"evenodd/player/strategy/person"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
)

// newPerson returns a person who knows the built-in games.
func newPerson() *person.Person {
	return person.New(person.Options{Player: "Ada",
		Games: rules.NewRegistry(connectfour.Game{}, tictactoe.Game{}, evenodd.Game{})})
}

// viewOf is the view of player A, P01, before the next move of a game after the moves of both, each a move of a turn.
func viewOf(t *testing.T, game rules.Game, moves ...string) strategy.View {
	t.Helper()
	c := rules.Begin(game)
	v := strategy.View{GameType: game.Info().Type, MatchID: "R1M1", RoundID: 1, PlayerID: "P01", OpponentID: "P02",
		Role: protocol.RolePlayerA, Within: 2 * time.Minute}
	for _, text := range moves {
		side := c.ToMove()[0]
		after, err := c.Move(side, text)
		require.NoError(t, err)
		v.Moves = append(v.Moves, protocol.PlayerMove{PlayerID: []string{"P01", "P02"}[side], Move: text})
		c = after
	}
	q := c.Ask(rules.SideA)
	v.MoveType, v.Options, v.Context = q.MoveType, q.Options, q.Context
	return v
}

// A choice is the outcome of Choose.
type choice struct {
	move string
	err  error
}

// choose asks a person in the background.
func choose(ctx context.Context, p *person.Person, v strategy.View) <-chan choice {
	made := make(chan choice, 1)
	go func() {
		move, err := p.Choose(ctx, v)
		made <- choice{move, err}
	}()
	synctest.Wait()
	return made
}

// now is the present state of a person.
func now(p *person.Person) *person.State {
	s, _ := p.Now()
	return s
}

func TestAnswerOfThePersonIsTheMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		_, changed := p.Now()
		made := choose(t.Context(), p, viewOf(t, connectfour.Game{}, "4", "4"))
		<-changed
		s := now(p)
		require.NotNil(t, s.Question)
		assert.Equal(t, "Connect Four", s.Game)
		assert.Equal(t, "R1M1", s.Match)
		assert.Equal(t, []person.Made{{Own: true, Words: "column 4"}, {Words: "column 4"}}, s.Moves)
		assert.Equal(t, person.Option{Move: "7", Words: "column 7"}, s.Question.Options[6])
		require.ErrorContains(t, p.Answer(s.Question.Number, "8"), `"8" is not a legal move`)
		require.NoError(t, p.Answer(s.Question.Number, "7"))
		assert.Equal(t, choice{move: "7"}, <-made)
		assert.Nil(t, now(p).Question)
		assert.True(t, now(p).Moved)
		assert.Len(t, now(p).Moves, 3)
	})
}

func TestSecondAnswerChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		made := choose(t.Context(), p, viewOf(t, connectfour.Game{}))
		number := now(p).Question.Number
		require.NoError(t, p.Answer(number, "7"))
		require.NoError(t, p.Answer(number, "7"), "the same request again")
		require.ErrorContains(t, p.Answer(number, "6"), "you have moved already")
		require.ErrorContains(t, p.Answer(number+1, "6"), "does not wait")
		assert.Equal(t, choice{move: "7"}, <-made)
	})
}

func TestMoveAfterTheDeadlineIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		v, began := viewOf(t, connectfour.Game{}), time.Now()
		made := choose(t.Context(), p, v)
		number := now(p).Question.Number
		got := <-made
		failed, ok := got.err.(*strategy.FailedError)
		require.True(t, ok, got.err)
		assert.Equal(t, "no move in time", failed.Cause)
		assert.Equal(t, 2*time.Minute-500*time.Millisecond, time.Since(began), "the answer needs time on its way")
		require.ErrorContains(t, p.Answer(number, "7"), "your time for this move is over")
		assert.True(t, now(p).Late)
		assert.Nil(t, now(p).Question)
		again := <-choose(t.Context(), p, v)
		require.Error(t, again.err, "another asking gives no new time")
		assert.Equal(t, 2*time.Minute-500*time.Millisecond, time.Since(began))
	})
}

func TestQuestionOfACallerThatGaveUpWaitsForTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		v := viewOf(t, connectfour.Game{})
		ctx, giveUp := context.WithCancel(t.Context())
		first := choose(ctx, p, v)
		number := now(p).Question.Number
		giveUp()
		require.ErrorIs(t, (<-first).err, context.Canceled)
		require.NoError(t, p.Answer(number, "3"), "the person does not notice")
		assert.Equal(t, choice{move: "3"}, <-choose(t.Context(), p, v))
	})
}

func TestNewAttemptAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		v := viewOf(t, evenodd.Game{})
		first := choose(t.Context(), p, v)
		require.NoError(t, p.Answer(now(p).Question.Number, "odd"))
		<-first
		p.Began("R1M1", "P02", "even_odd", protocol.RolePlayerA)
		assert.Nil(t, now(p).Question)
		second := choose(t.Context(), p, v)
		require.NoError(t, p.Answer(now(p).Question.Number, "even"))
		assert.Equal(t, choice{move: "even"}, <-second)
	})
}

func TestFreeTextIsOneLineWithinItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		v := strategy.View{GameType: "talk", MatchID: "R1M1", PlayerID: "P01", OpponentID: "P02", Text: 5, Rules: "Talk.",
			Context: map[string]any{"turn": 1, "view": "Say a word."}}
		made := choose(t.Context(), p, v)
		s := now(p)
		assert.Equal(t, "Say a word.", s.Text)
		assert.Equal(t, "Talk.", s.Rules)
		assert.Equal(t, 5, s.Question.Text)
		for text, problem := range map[string]string{" ": "write something", "a\nb": "one line",
			"longer": "6 bytes, 5 are allowed", "\xff": "one line"} {
			require.ErrorContains(t, p.Answer(s.Question.Number, text), problem)
		}
		require.NoError(t, p.Answer(s.Question.Number, "hello"))
		assert.Equal(t, choice{move: "hello"}, <-made)
	})
}

// A person whose text the referee refuses is asked anew, with the reason, also after the same text; a lost match has
// the last reason.
func TestRefusedTextIsAskedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		v := strategy.View{GameType: "talk", MatchID: "R1M1", PlayerID: "P01", OpponentID: "P02", Text: 20,
			Context: map[string]any{"turn": 1, "view": "Say a word."}}
		for range 2 {
			made := choose(t.Context(), p, v)
			require.NoError(t, p.Answer(now(p).Question.Number, "xylofone"))
			require.Equal(t, choice{move: "xylofone"}, <-made)
			assert.Len(t, now(p).Moves, 1)
			r := strategy.Refusal{Choice: "xylofone", Reason: "not a word"}
			p.Refused("R1M1", r)
			assert.Equal(t, `"xylofone" was refused: not a word`, now(p).Refused)
			assert.Empty(t, now(p).Moves)
			v.Refused = &r
		}
		made := choose(t.Context(), p, v)
		assert.Equal(t, `"xylofone" was refused: not a word`, now(p).Refused)
		require.NoError(t, p.Answer(now(p).Question.Number, "xylophone"))
		assert.Equal(t, choice{move: "xylophone"}, <-made)
		assert.Empty(t, now(p).Refused)
		p.Refused("R1M1", strategy.Refusal{Choice: "xylophone", Reason: "said before"})
		p.Ended(&protocol.PlayedMatch{MatchID: "R1M1", OpponentID: "P02", Result: "TECHNICAL_LOSS"}, "no valid move")
		assert.Equal(t, `"xylophone" was refused: said before`, now(p).Refused)
	})
}

// boardOf writes the cells: the text, then = and the move of a cell, and marks of the owner and of the last move.
func boardOf(s *person.State) string {
	text := ""
	for _, row := range s.Board {
		for _, c := range row {
			switch {
			case c.Label:
				text += "[" + c.Text + "]"
			case c.Own:
				text += "+" + c.Text
			case c.Other:
				text += "-" + c.Text
			default:
				text += "." + c.Text
			}
			if c.New {
				text += "!"
			}
			if c.Move != "" {
				text += "=" + c.Move
			}
			text += " "
		}
		text += "\n"
	}
	return text
}

func TestBoardHasTheMoves(t *testing.T) {
	for name, tt := range map[string]struct {
		game  rules.Game
		moves []string
		want  string
	}{
		"a cell is a move": {tictactoe.Game{}, []string{"4", "0"}, "-O! .=1 .=2 \n.=3 +X .=5 \n.=6 .=7 .=8 \n"},
		"a column is a move": {connectfour.Game{}, []string{"1", "1", "1", "1", "1", "1"}, "-O! .=2 .=3 .=4 .=5 .=6 .=7 \n" +
			"+X .=2 .=3 .=4 .=5 .=6 .=7 \n-O .=2 .=3 .=4 .=5 .=6 .=7 \n+X .=2 .=3 .=4 .=5 .=6 .=7 \n-O .=2 .=3 .=4 .=5 .=6 .=7 \n" +
			"+X .=2 .=3 .=4 .=5 .=6 .=7 \n[1] [2]=2 [3]=3 [4]=4 [5]=5 [6]=6 [7]=7 \n"},
		"both move at once": {evenodd.Game{}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPerson()
				made := choose(t.Context(), p, viewOf(t, tt.game, tt.moves...))
				s := now(p)
				assert.Equal(t, tt.want, boardOf(s))
				require.NoError(t, p.Answer(s.Question.Number, s.Question.Options[0].Move))
				<-made
			})
		})
	}
}

func TestBoardOfAnUnknownGameComesFromTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		v := strategy.View{GameType: "hex", MatchID: "R1M1", PlayerID: "P01", OpponentID: "P02",
			Options: []string{"a1", "b2"},
			Context: map[string]any{"turn": 1.,
				"view":  map[string]any{"mark": "X", "board": []any{"..", ".."}, "seen": []any{1., "a"}},
				"board": []any{[]any{".", "."}, []any{".", "."}}}}
		made := choose(t.Context(), p, v)
		assert.Equal(t, "..=a1 .. \n.. ..=b2 \n", boardOf(now(p)))
		assert.Equal(t, []person.Fact{{Name: "mark", Value: "X"}, {Name: "seen", Value: "1, a"}}, now(p).Facts)
		require.NoError(t, p.Answer(now(p).Question.Number, "a1"))
		<-made
		v.Options = []string{"b2"}
		v.Context = map[string]any{"turn": 3., "view": "", "board": []any{[]any{"X", "O"}, []any{".", "."}}}
		v.Moves = []protocol.PlayerMove{{PlayerID: "P01", Move: "a1", Turn: 1},
			{PlayerID: "P02", Move: "ab12", Turn: 2, Secret: true}}
		made = choose(t.Context(), p, v)
		assert.Equal(t, ".X! .O! \n.. ..=b2 \n", boardOf(now(p)))
		assert.Equal(t, []person.Made{{Own: true, Words: "a1"}, {Words: "a secret move"}}, now(p).Moves)
		require.NoError(t, p.Answer(now(p).Question.Number, "b2"))
		<-made
	})
}

// The last move of a match is in its result alone, if the opponent has made it.
func TestResultCompletesTheBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		made := choose(t.Context(), p, viewOf(t, tictactoe.Game{}, "0", "2", "1", "4")) // the opponent threatens 6
		require.NoError(t, p.Answer(now(p).Question.Number, "8"))
		<-made
		p.Ended(&protocol.PlayedMatch{MatchID: "R1M1", OpponentID: "P02", Result: "LOSS", MyChoice: "8", OpponentChoice: "6"},
			"P02 has three in a row")
		s := now(p)
		assert.Equal(t, "You lost", s.Result.Title())
		assert.Equal(t, "P02 has three in a row", s.Result.Reason)
		assert.Equal(t, "+X +X -O \n. -O . \n-O! . +X \n", boardOf(s))
		assert.Equal(t, "1 lost", fmt.Sprint(s.Score))
		p.Began("R2M1", "P03", "tic_tac_toe", protocol.RolePlayerB)
		assert.Equal(t, "R2M1", now(p).Match)
		assert.Equal(t, ". . . \n. . . \n. . . \n", boardOf(now(p)), "before the first question")
		assert.Equal(t, "R1M1", now(p).Last.Match)
		p.End("The league is over.", true)
		assert.True(t, now(p).Again)
	})
}

func TestMarksAndCardsOfABoard(t *testing.T) {
	for name, tt := range map[string]struct {
		view    map[string]any
		board   [][]string
		options []string
		want    string
	}{
		"marks": {map[string]any{"mark": "X"}, [][]string{{"X", "O"}, {".", "12"}}, []string{"a2"},
			"+X -O \n..=a2 .12 \n"},
		"cards face down": {map[string]any{}, [][]string{{"a", "?"}, {"?", ""}}, []string{"2", "3"},
			".a .?=2 \n.?=3 . \n"},
		"no cell for a move": {map[string]any{}, [][]string{{"a", "?"}}, []string{"2", "3"}, ".a .? \n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPerson()
				made := choose(t.Context(), p, strategy.View{GameType: "other", MatchID: "R1M1", PlayerID: "P01", OpponentID: "P02",
					Options: tt.options, Context: map[string]any{"view": tt.view, "board": tt.board}})
				assert.Equal(t, tt.want, boardOf(now(p)))
				require.NoError(t, p.Answer(now(p).Question.Number, tt.options[0]))
				<-made
			})
		})
	}
}

func TestPersonSeesTheOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		c, err := rules.BeginAfter(tictactoe.Game{}, []string{"0", "1", "2", "4"})
		require.NoError(t, err)
		v, q := viewOf(t, tictactoe.Game{}), c.Ask(rules.SideA)
		v.Options, v.Context, v.Opening = q.Options, q.Context, c.Opening()
		made := choose(t.Context(), p, v)
		s := now(p)
		assert.Equal(t, []string{"cell 0", "cell 1", "cell 2", "cell 4"}, s.Opening)
		assert.Empty(t, s.Moves)
		assert.Equal(t, person.Cell{Text: "X", Own: true}, s.Board[0][0])
		assert.Equal(t, person.Cell{Text: "O", Other: true, New: true}, s.Board[1][1])
		assert.Equal(t, "3", s.Board[1][0].Move)
		require.NoError(t, p.Answer(s.Question.Number, "7"))
		assert.Equal(t, choice{move: "7"}, <-made)
		assert.Equal(t, "X", now(p).Board[2][1].Text)
	})
}
