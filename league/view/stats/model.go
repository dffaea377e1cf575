package stats

import (
	"math"

	"evenodd/league"
)

// The model is that of Bradley and Terry (1952): side A wins with the probability
// 1 / (1 + exp(b - a - s)), where a and b are the strengths of the players and s is the
// advantage of side A. A draw counts as half a win and half a loss.
//
// Each player also has half a win and half a loss against an opponent of strength 0. This prior
// makes every strength finite, also of a player that won all matches, and of groups of players
// that never met. The advantage has a prior of sideWins wins for each side.
const (
	priorWins = 0.5
	sideWins  = 5.0
)

// A model has the matches as the likelihood needs them.
type model struct {
	players int
	edges   []edge
	edgeOf  []int32 // by match
	sides   bool    // side A may have an advantage
}

// An edge is two players that met, by their sides.
type edge struct{ a, b int32 }

// A sample has the weights of matches in a model. In the data each match weighs 1.
type sample struct {
	games  []float64 // by edge
	scores []float64 // by player: wins and half of the draws, with those of the prior
	prior  []float64 // by player: the matches of the prior
	sideA  float64   // score of side A
}

func newModel(players int, matches []league.Played, sides bool) model {
	m := model{players: players, edgeOf: make([]int32, len(matches)), sides: sides}
	known := make(map[edge]int32, len(matches))
	for i := range matches {
		e := edge{int32(matches[i].A), int32(matches[i].B)} //nolint:gosec // a league has fewer players
		number, ok := known[e]
		if !ok {
			number = int32(len(m.edges)) //nolint:gosec // at most MaxMatches
			known[e], m.edges = number, append(m.edges, e)
		}
		m.edgeOf[i] = number
	}
	return m
}

// fill counts the matches, each with the weight that the function returns. The weights of a
// player's prior, a win and a loss, come from the second function.
func (s *sample) fill(m *model, matches []league.Played, weight, prior func() float64) {
	clear(s.games)
	s.sideA = 0
	for i := range s.scores {
		s.scores[i] = prior()
		s.prior[i] = s.scores[i] + prior()
	}
	for i := range matches {
		w := weight()
		s.games[m.edgeOf[i]] += w
		switch e := m.edges[m.edgeOf[i]]; matches[i].Winner {
		case matches[i].A:
			s.scores[e.a] += w
			s.sideA += w
		case matches[i].B:
			s.scores[e.b] += w
		default:
			s.scores[e.a] += w / 2
			s.scores[e.b] += w / 2
			s.sideA += w / 2
		}
	}
}

// A solver finds the strengths that make a sample likeliest. It keeps its slices between
// samples.
type solver struct {
	*model

	// x has the strengths, and then the advantage of side A.
	x []float64

	odds, gradient []float64
	curvature      []float64 // of the likelihood, by edge
	anchor         []float64 // the curvature of the prior
	diagonal       []float64 // the sum of both, by strength

	step, residual, direction, product []float64 // of newtonStep
}

func newSolver(m *model) *solver {
	n := m.players + 1
	vector := func() []float64 { return make([]float64, n) }
	return &solver{
		model: m, x: vector(), odds: vector(), gradient: vector(), curvature: make([]float64, len(m.edges)), anchor: vector(),
		diagonal: vector(), step: vector(), residual: vector(), direction: vector(), product: vector(),
	}
}

// solve improves x until no strength changes by more than the tolerance.
//
// It uses Newton's method on the logarithm of the likelihood, which is concave. The usual MM
// algorithm needs thousands of steps if a strength is large or few matches connect two groups of
// players. A full step can be too long if it changes the logarithm of the odds of a match by r > 1.
// Its part ln(1 + r) / r is always an improvement, because the curvature of the logistic function
// changes by a factor of at most e for each 1 (Sun and Tran-Dinh 2019).
func (s *solver) solve(of *sample, tolerance float64) {
	const most = 200 // steps; a large strength needs some 30
	for range most {
		s.derive(of)
		s.newtonStep()
		scale := 1.0
		if r := s.largestChange(); r > 1 {
			scale = math.Log(1+r) / r
		}
		largest := 0.0
		for i, d := range s.step {
			change := scale * d
			s.x[i] += change
			largest = max(largest, math.Abs(change))
		}
		if largest <= tolerance {
			return
		}
	}
}

// derive computes gradient and curvature of the negative logarithm of the likelihood at x.
func (s *solver) derive(of *sample) {
	n := s.players
	for i, x := range s.x {
		s.odds[i] = math.Exp(x)
	}
	for i := range n {
		p := s.odds[i] / (1 + s.odds[i])
		s.gradient[i] = of.prior[i]*p - of.scores[i]
		s.anchor[i] = of.prior[i] * p / (1 + s.odds[i])
	}
	s.gradient[n], s.anchor[n] = 0, 1 // without an advantage, x[n] remains 0
	factor, won, curved := s.odds[n], 0.0, 0.0
	if s.sides {
		p := factor / (1 + factor)
		s.gradient[n] = 2*sideWins*p - sideWins
		s.anchor[n] = 2 * sideWins * p / (1 + factor)
	}
	copy(s.diagonal, s.anchor)
	for i, e := range s.edges {
		a, b := s.odds[e.a]*factor, s.odds[e.b]
		p := a / (a + b)
		expected := of.games[i] * p
		h := expected * b / (a + b)
		s.gradient[e.a] += expected
		s.gradient[e.b] += of.games[i] - expected
		s.diagonal[e.a] += h
		s.diagonal[e.b] += h
		s.curvature[i] = h
		won, curved = won+expected, curved+h
	}
	if s.sides {
		s.gradient[n] += won - of.sideA
		s.diagonal[n] += curved
	}
}

// newtonStep sets step to about the solution of curvature · step = −gradient, by the method of
// conjugate gradients, preconditioned with the diagonal.
func (s *solver) newtonStep() {
	const precision = 1e-2 // of the square of the residual, against the gradient
	clear(s.step)
	before := 0.0
	for i := range s.step {
		s.residual[i] = -s.gradient[i]
		s.direction[i] = s.residual[i] / s.diagonal[i]
		before += s.residual[i] * s.direction[i]
	}
	first := before
	for range len(s.step) {
		if before <= precision*first || before == 0 {
			return
		}
		s.times(s.direction)
		length := before / dot(s.direction, s.product)
		after := 0.0
		for i := range s.step {
			s.step[i] += length * s.direction[i]
			s.residual[i] -= length * s.product[i]
			after += s.residual[i] * s.residual[i] / s.diagonal[i]
		}
		for i := range s.direction {
			s.direction[i] = s.residual[i]/s.diagonal[i] + after/before*s.direction[i]
		}
		before = after
	}
}

// times sets product to the matrix of second derivatives times v.
func (s *solver) times(v []float64) {
	n := s.players
	side, sum := v[n], 0.0 // side is 0 without an advantage
	for i := range s.product {
		s.product[i] = s.anchor[i] * v[i]
	}
	for i, e := range s.edges {
		t := s.curvature[i] * (v[e.a] + side - v[e.b])
		s.product[e.a] += t
		s.product[e.b] -= t
		sum += t
	}
	if s.sides {
		s.product[n] += sum
	}
}

// largestChange is the largest change of the logarithm of the odds of a match, also of the
// prior, that step makes, or a number up to 1 that is not below it.
func (s *solver) largestChange() (most float64) {
	for _, d := range s.step {
		most = max(most, math.Abs(d))
	}
	if 3*most <= 1 { // three of them make a change
		return 3 * most
	}
	for _, e := range s.edges {
		most = max(most, math.Abs(s.step[e.a]+s.step[s.players]-s.step[e.b]))
	}
	return most
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
