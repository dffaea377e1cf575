package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

// The key of a model must not reach other processes or command lines.
func TestOnlyThePlayerOfAModelGetsItsKey(t *testing.T) {
	t.Setenv("CLASS_KEY", "secret-1")
	t.Setenv(llmKeyVariable, "secret-2")
	t.Setenv(openAIKeyVariable, "secret-3")
	g, err := newUpGroup(streams{err: &bytes.Buffer{}}, &upOptions{referees: 1, data: "SHARED", host: "localhost"}, []config.Entrant{
		{Name: "Model", Kind: config.KindLLM, LLM: config.EntrantLLM{URL: "http://model/v1", Model: "m", KeyEnv: "CLASS_KEY"}},
		{Name: "Free", Kind: config.KindLLM, LLM: config.EntrantLLM{URL: "http://free/v1", Model: "f"}},
	})
	require.NoError(t, err)
	for _, m := range append(g.agents, g.manager) {
		assert.NotContains(t, strings.Join(m.args, " "), "secret", m.name)
		env := strings.Join(m.env, "\n")
		assert.Equal(t, m.name == "Model", strings.Contains(env, llmKeyVariable+"=secret-1"), m.name)
		assert.NotRegexp(t, `secret-[23]|CLASS_KEY`, env, m.name)
	}
	assert.Subset(t, g.agents[1].args, []string{"--strategy=llm", "--llm-url=http://model/v1", "--llm-model=m"})
}
