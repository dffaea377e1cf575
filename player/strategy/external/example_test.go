package external_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"

	"evenodd/league/protocol"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
)

// A language model behind an endpoint with OpenAI's API chooses an option.
func ExampleOpen() {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"choices": [{"message": {"role": "assistant", "content": "My choice is odd."}}]}`)
	}))
	defer model.Close()
	s, err := external.Open(external.Model, external.Tools{LLM: external.LLM{URL: model.URL + "/v1", Model: "qwen3"}}, "even_odd")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer external.Close(s)
	choice, err := s.Choose(context.Background(), strategy.View{
		GameType: "even_odd", MoveType: "choose_parity", Options: []string{"even", "odd"},
		MatchID: "R1M1", PlayerID: "P01", OpponentID: "P02", Random: rand.New(rand.NewPCG(1, 2)),
		Memory: strategy.NewMemory, Recent: func(int) []protocol.PlayedMatch { return nil },
	})
	fmt.Println(s.Name(), choice, err)
	// Output: llm odd <nil>
}
