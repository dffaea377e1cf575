package record

import (
	"cmp"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/words"
)

// Ratings are the players of several leagues of one game, rated together.
type Ratings struct {
	Leagues []SeasonLeague `json:"leagues"` // each once
	Players []RatedPlayer  `json:"ratings"` // the highest rating first
	Pairs   []Pair         `json:"head_to_head"`
	NotUsed
}

// NotUsed counts the results without a rating.
type NotUsed struct {
	Repeated  int  `json:"repeated_leagues"` // leagues that were given more than once
	Stated    int  `json:"stated"`           // results on the word of a referee alone
	Technical int  `json:"technical_losses"` // of one player or both
	Unknown   int  `json:"unknown"`          // of a player without the property by which players are rated
	Within    int  `json:"within"`           // between two players that count as one
	Copies    int  `json:"copies"`           // that repeat a match of the same players, also of another league
	Sampled   bool `json:"sampled,omitzero"` // ratings use a sample of the others

	copies string // the sentence about Copies
}

// A RatedPlayer is the rating of a player over several leagues.
type RatedPlayer struct {
	Player  string `json:"player"`
	Leagues int    `json:"leagues"`
	league.Tally
	Points  int     `json:"points"`  // in the tables of the leagues
	Matches int     `json:"matches"` // the same; Played are those that are rated
	Places  []Place `json:"places"`  // in the leagues, in their order
	Rating  float64 `json:"rating"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Rank    int     `json:"rank"` // 0 without a rating, as all from here on
	Best    int     `json:"best_rank"`
	Worst   int     `json:"worst_rank"`
}

// Rate rates players over leagues of one game. Players of equal key are one; those with the key "" are not
// known. The order of the leagues has no effect.
func Rate(leagues []SeasonLeague, key func(*league.Standing) string) *Ratings {
	r := &Ratings{Leagues: once(leagues)}
	r.Repeated = len(leagues) - len(r.Leagues)
	all, starts, played := &Results{}, []string{}, map[string]*RatedPlayer{}
	for i := range r.Leagues {
		l := &r.Leagues[i]
		starts = append(starts, l.Start)
		all.SidesAlike = l.results.SidesAlike
		r.add(all, l.results, key, played)
	}
	all.LeagueID = strings.Join(starts, " ")
	s := all.Statistics()
	_, _, left := all.rated()
	r.Sampled, r.Copies, r.copies, r.Pairs = s.Sampled, s.Copies, strings.TrimSpace(left.sentence(byID)),
		slices.Collect(all.HeadToHead())
	for i := range r.Pairs {
		played[r.Pairs[i].PlayerID].join(&r.Pairs[i].Tally)
	}
	for i := range s.Ratings {
		p, row := &s.Ratings[i], played[s.Ratings[i].PlayerID]
		row.Rating, row.Low, row.High, row.Rank, row.Best, row.Worst = p.Rating, p.Low, p.High, p.Rank, p.BestRank,
			p.WorstRank
		r.Players = append(r.Players, *row)
	}
	slices.SortStableFunc(r.Leagues, byBegin)
	r.place(key)
	return r
}

// join adds the results against one opponent.
func (p *RatedPlayer) join(t *league.Tally) {
	p.Played, p.Wins, p.Draws, p.Losses = p.Played+t.Played, p.Wins+t.Wins, p.Draws+t.Draws, p.Losses+t.Losses
}

// once leaves one of each league, the one with most results, in the order of their hashes.
func once(leagues []SeasonLeague) []SeasonLeague {
	leagues = slices.SortedStableFunc(slices.Values(leagues), func(a, b SeasonLeague) int {
		return cmp.Or(strings.Compare(a.Start, b.Start), b.Results-a.Results)
	})
	return slices.CompactFunc(leagues, func(a, b SeasonLeague) bool { return a.Start == b.Start })
}

// add adds the results of a league that are rated, under the keys of their players, and counts the others.
func (r *Ratings) add(all, one *Results, key func(*league.Standing) string, played map[string]*RatedPlayer) {
	keys, here, index := make([]string, len(one.Players)), map[string]bool{}, map[string]int{}
	for i := range one.Players {
		keys[i] = key(&one.Players[i])
	}
	for i := range all.Players {
		index[all.Players[i].PlayerID] = i
	}
	for _, m := range one.Meetings {
		a, b := keys[m.A], keys[m.B]
		switch {
		case one.Players[m.A].Annulled || one.Players[m.B].Annulled:
		case m.Stated:
			r.Stated++
		case m.Technical:
			r.Technical++
		case a == "" || b == "":
			r.Unknown++
		case a == b:
			r.Within++
		default:
			for _, name := range [...]string{a, b} {
				if played[name] == nil {
					played[name], index[name] = &RatedPlayer{Player: name}, len(all.Players)
					all.Players = append(all.Players, league.Standing{PlayerID: name})
				}
				if !here[name] {
					here[name] = true
					played[name].Leagues++
				}
			}
			m.Played = m.between(index[a], index[b])
			all.Meetings = append(all.Meetings, m)
		}
	}
}

// Sentences tell which results have no rating, and why.
func (n *NotUsed) Sentences() (sentences []string) {
	for _, one := range []struct {
		number    int
		what, why string
	}{
		{n.Repeated, "league", "was given twice, and counts once"},
		{n.Stated, "result", "not rated: on the word of a referee alone"},
		{n.Technical, "result", "not rated: a technical loss"},
		{n.Unknown, "result", "not rated: of a player whose strategy no record has"},
		{n.Within, "result", "not rated: between players that count as one"},
	} {
		if one.number > 0 {
			sentences = append(sentences, words.Counted(one.number, one.what)+" "+one.why+".")
		}
	}
	if n.copies != "" {
		sentences = append(sentences, n.copies)
	}
	if n.Sampled {
		sentences = append(sentences, "Ratings use a random sample of the results.")
	}
	return sentences
}
